-- Which tables take part.

create or replace function kizunasync.register_table(
  p_table text,
  p_sync_mode text default 'read-write',
  p_bucket_column text default null,
  p_soft_delete_column text default null,
  p_key_columns text[] default '{id}',
  p_conflict_mode text default 'arrival',
  p_conflict_journal boolean default false,
  p_register_clients boolean default false,
  p_min_schema_version integer default 1,
  p_tombstone_ttl_days integer default null
) returns void
language plpgsql volatile set search_path = '' as $$
declare
  wanted kizunasync.registered_tables;
  known kizunasync.registered_tables;
  relation oid;
begin
  perform kizunasync.demand_operator();
  wanted.schema_name := case when p_table like '%.%' then split_part(p_table, '.', 1) else 'public' end;
  wanted.table_name := case when p_table like '%.%' then split_part(p_table, '.', 2) else p_table end;
  wanted.sync_mode := p_sync_mode;
  wanted.bucket_column := p_bucket_column;
  wanted.soft_delete_column := p_soft_delete_column;
  wanted.key_columns := p_key_columns;
  wanted.conflict_mode := p_conflict_mode;
  wanted.conflict_journal := coalesce(p_conflict_journal, false);
  wanted.register_clients := coalesce(p_register_clients, false);
  wanted.min_schema_version := coalesce(p_min_schema_version, 1);
  wanted.tombstone_ttl_days := p_tombstone_ttl_days;

  relation := kizunasync.check_registrable(wanted);
  select * into known from kizunasync.registered_tables r where r.table_name = wanted.table_name for update;
  if found and known = wanted and kizunasync.is_captured(wanted) then
    perform kizunasync.seed_table(wanted);
    return;
  end if;
  if known.table_name is not null and known.schema_name <> wanted.schema_name then
    raise exception 'a table % of schema % is registered already', known.table_name, known.schema_name
      using errcode = '23505', hint = 'Names on the wire carry no schema: unregister the other table first.';
  end if;

  insert into kizunasync.registered_tables select (wanted).*
    on conflict (table_name) do update set
      sync_mode = excluded.sync_mode, bucket_column = excluded.bucket_column,
      soft_delete_column = excluded.soft_delete_column, key_columns = excluded.key_columns,
      conflict_mode = excluded.conflict_mode, conflict_journal = excluded.conflict_journal,
      register_clients = excluded.register_clients, min_schema_version = excluded.min_schema_version,
      tombstone_ttl_days = excluded.tombstone_ttl_days;
  perform kizunasync.attach_triggers(wanted, relation);
  if known.key_columns <> wanted.key_columns then
    perform kizunasync.forget_table(wanted.table_name);
  elsif known.bucket_column is distinct from wanted.bucket_column and known.table_name is not null then
    perform kizunasync.relabel_table(wanted);
  end if;
  perform kizunasync.seed_table(wanted);
end $$;

-- The table's oid, or why it cannot take part.
create or replace function kizunasync.check_registrable(wanted kizunasync.registered_tables) returns oid
language plpgsql stable set search_path = '' as $$
declare
  relation oid := kizunasync.relation_of(wanted);
  keys text[];
  unsupported text;
begin
  if wanted.table_name !~ '^[a-z][a-z0-9_]*$' then
    raise exception 'the name "%" cannot travel', wanted.table_name
      using errcode = '22023', hint = 'A synced table is named by a lowercase letter, then lowercase letters, digits and _.';
  end if;
  if relation is null or (select relkind from pg_catalog.pg_class where oid = relation) not in ('r', 'p') then
    raise exception 'there is no table %.%', wanted.schema_name, wanted.table_name using errcode = '42P01';
  end if;
  if not (select relrowsecurity from pg_catalog.pg_class where oid = relation) then
    raise exception 'table %.% has no row level security: every caller would see every row', wanted.schema_name, wanted.table_name
      using errcode = '0A000', hint = format('Run: alter table %I.%I enable row level security; and give it policies.',
        wanted.schema_name, wanted.table_name);
  end if;
  select array_agg(a.attname::text order by k.n) into keys
    from pg_catalog.pg_index i, unnest(i.indkey) with ordinality as k(attnum, n)
    join pg_catalog.pg_attribute a on a.attnum = k.attnum
    where i.indrelid = relation and i.indisprimary and a.attrelid = relation;
  if keys is null then
    raise exception 'table %.% has no primary key', wanted.schema_name, wanted.table_name using errcode = '0A000';
  end if;
  if keys is distinct from wanted.key_columns then
    raise exception 'the primary key of %.% is (%), not (%)', wanted.schema_name, wanted.table_name,
      array_to_string(keys, ', '), array_to_string(wanted.key_columns, ', ')
      using errcode = '22023', hint = 'Give p_key_columns in the order of the primary key.';
  end if;
  select format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod)) into unsupported
    from pg_catalog.pg_attribute a
    where a.attrelid = relation and a.attname = any (keys)
      and a.atttypid not in (
        'uuid'::regtype, 'text'::regtype, 'character varying'::regtype, 'smallint'::regtype, 'integer'::regtype,
        'bigint'::regtype) limit 1;
  if unsupported is not null then
    raise exception 'the key column % has a type that cannot be a key', unsupported
      using errcode = '0A000', hint = 'Key columns are uuid, text, character varying, smallint, integer or bigint.';
  end if;
  if wanted.bucket_column is not null and not exists (
    select from pg_catalog.pg_attribute
    where attrelid = relation and attname = wanted.bucket_column and attnum > 0 and not attisdropped)
  then
    raise exception 'table %.% has no column %', wanted.schema_name, wanted.table_name, wanted.bucket_column
      using errcode = '42703';
  end if;
  return relation;
end $$;

create or replace function kizunasync.is_captured(wanted kizunasync.registered_tables) returns boolean
language sql stable set search_path = '' as $$
  select count(*) = 2 from pg_catalog.pg_trigger
  where tgrelid = kizunasync.relation_of(wanted) and tgname in ('kizunasync_capture', 'kizunasync_truncate')
$$;

create or replace function kizunasync.attach_triggers(wanted kizunasync.registered_tables, relation oid) returns void
language plpgsql volatile set search_path = '' as $$
declare
  arguments text;
begin
  perform kizunasync.detach_triggers(wanted.schema_name, wanted.table_name);
  select string_agg(quote_literal(x), ', ' order by n) into arguments
    from unnest(array[wanted.table_name, coalesce(wanted.bucket_column, '')] || wanted.key_columns)
      with ordinality as a(x, n);
  execute format(
    'create trigger kizunasync_capture after insert or update or delete on %I.%I for each row execute function kizunasync.capture(%s)',
    wanted.schema_name, wanted.table_name, arguments);
  execute format(
    'create trigger kizunasync_truncate after truncate on %I.%I for each statement execute function kizunasync.capture_truncate(%s)',
    wanted.schema_name, wanted.table_name, arguments);
end $$;

create or replace function kizunasync.detach_triggers(p_schema text, p_table text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  execute format('drop trigger if exists kizunasync_capture on %I.%I', p_schema, p_table);
  execute format('drop trigger if exists kizunasync_truncate on %I.%I', p_schema, p_table);
end $$;

create or replace function kizunasync.forget_table(p_table text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  delete from kizunasync.change_log where table_name = p_table;
  delete from kizunasync.tombstones where table_name = p_table;
  delete from kizunasync.grants where table_name = p_table;
  delete from kizunasync.hlc_state where table_name = p_table;
  delete from kizunasync.overwrites where table_name = p_table;
end $$;

-- SQL for the bucket label of a row that stands under `t`.
create or replace function kizunasync.label_expression(wanted kizunasync.registered_tables) returns text
language sql immutable set search_path = '' as $$
  select case when wanted.bucket_column is null then ''''''
    else format('coalesce(to_jsonb(t.%I) #>> ''{}'', '''')', wanted.bucket_column) end
$$;

-- Rows that were there before the table took part have no entry, and would never reach a pull. Idempotent.
create or replace function kizunasync.seed_table(wanted kizunasync.registered_tables) returns void
language plpgsql volatile set search_path = '' set timezone = 'UTC' set datestyle = 'ISO'
set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
begin
  perform kizunasync.lock_numbers();
  execute format(
    $sql$
      insert into kizunasync.change_log (seq, table_name, pk, bucket, written_at, xid)
      select nextval('kizunasync.change_seq'), %1$L, missing.pk, missing.bucket, clock_timestamp(), pg_current_xact_id()
      from (
        select rows.pk, rows.bucket from (select %2$s as pk, %3$s as bucket from %4$I.%5$I t) rows
        where not exists (
            -- A removal while the table took part outranks what the log knows of the row before.
            select from kizunasync.change_log l where l.table_name = %1$L and l.pk = rows.pk
              and not exists (
                select from kizunasync.tombstones t
                where t.table_name = %1$L and t.pk = l.pk and t.seq > l.seq))
          and not exists (
            select from kizunasync.pending_changes p
            where p.xid = pg_current_xact_id() and p.table_name = %1$L and p.pk = rows.pk)
        order by rows.pk
      ) missing
    $sql$,
    wanted.table_name, kizunasync.key_expression(wanted.key_columns, 't'),
    kizunasync.label_expression(wanted),
    wanted.schema_name, wanted.table_name);
end $$;

-- Another bucket column: entries get the label of their row as it stands, entries of rows that are gone go, and who
-- was sent what under the old column counts no more.
create or replace function kizunasync.relabel_table(wanted kizunasync.registered_tables) returns void
language plpgsql volatile set search_path = '' set timezone = 'UTC' set datestyle = 'ISO'
set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
begin
  perform kizunasync.lock_numbers();
  execute format(
    $sql$
      with rows as materialized (select %2$s as pk, %3$s as bucket from %4$I.%5$I t),
      gone as (
        delete from kizunasync.change_log l
        where l.table_name = %1$L and not exists (select from rows where rows.pk = l.pk)
      )
      update kizunasync.change_log l set bucket = rows.bucket
      from rows where l.table_name = %1$L and l.pk = rows.pk and l.bucket <> rows.bucket
    $sql$,
    wanted.table_name, kizunasync.key_expression(wanted.key_columns, 't'),
    kizunasync.label_expression(wanted),
    wanted.schema_name, wanted.table_name);
  -- What value of the new column a removed row had is not known; without a bucket there is but one.
  if wanted.bucket_column is null then
    with newest as (
      select distinct on (pk) pk, seq, deleted_at from kizunasync.tombstones
      where table_name = wanted.table_name order by pk, seq desc
    ), cleared as (
      delete from kizunasync.tombstones where table_name = wanted.table_name and bucket <> ''
    )
    insert into kizunasync.tombstones (table_name, pk, bucket, seq, deleted_at)
      select wanted.table_name, pk, '', nextval('kizunasync.change_seq'), deleted_at from newest
      on conflict (table_name, pk, bucket) do nothing;
  else
    delete from kizunasync.tombstones where table_name = wanted.table_name;
  end if;
  delete from kizunasync.grants where table_name = wanted.table_name;
end $$;

create or replace function kizunasync.unregister_table(p_table text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  known kizunasync.registered_tables;
begin
  perform kizunasync.demand_operator();
  delete from kizunasync.registered_tables r
    where r.table_name = case when p_table like '%.%' then split_part(p_table, '.', 2) else p_table end
    returning * into known;
  if not found then return; end if;
  if kizunasync.relation_of(known) is not null then
    perform kizunasync.detach_triggers(known.schema_name, known.table_name);
  end if;
end $$;
