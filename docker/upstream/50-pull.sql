-- Pull: the latest image of every row that changed behind a cursor, and the keys of rows that are gone.

-- MARK: Schema versions

-- The least schema version for these tables; of all, if none of them is registered.
create or replace function kizunasync.minimum_schema(p_tables text[]) returns integer
language sql stable set search_path = '' as $$
  select coalesce(
    (select max(min_schema_version) from kizunasync.registered_tables where table_name = any (p_tables)),
    (select max(min_schema_version) from kizunasync.registered_tables), 1)
$$;

-- MARK: Cursors

-- token = [ start ":" ] high [ "~" hole *( "." hole ) ]
create or replace function kizunasync.parse_cursor(
  token text, out start_seq bigint, out high bigint, out holes bigint[]
)
language plpgsql immutable set search_path = '' as $$
declare
  parts text[] := regexp_match(token, '^(?:(0|[1-9][0-9]*):)?(0|[1-9][0-9]*)(?:~([1-9][0-9]*(?:\.[1-9][0-9]*)*))?$');
begin
  if parts is not null then
    begin
      start_seq := parts[1]::bigint;
      high := parts[2]::bigint;
      holes := coalesce(string_to_array(parts[3], '.')::bigint[], '{}');
      if coalesce((select bool_and(h < high and (before is null or before < h))
        from (select h, lag(h) over (order by n) as before from unnest(holes) with ordinality as x(h, n)) y), true)
      then return;
      end if;
    exception when numeric_value_out_of_range then
      null;
    end;
  end if;
  raise exception 'the cursor "%" is malformed', coalesce(token, '')
    using errcode = '22023', hint = 'Send "0", or the cursor of the last answer byte for byte.';
end $$;

-- MARK: Buckets

create or replace function kizunasync.refuse_request(message text, hint text) returns void
language plpgsql immutable set search_path = '' as $$
begin
  raise exception '%', message using errcode = '22023', hint = hint;
end $$;

-- A bucket value as the column's type writes it, which is how entries are labelled.
create or replace function kizunasync.bucket_label(relation oid, column_name text, given text) returns text
language plpgsql stable set search_path = '' set timezone = 'UTC' set datestyle = 'ISO'
set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
declare
  label text;
begin
  execute format('select to_jsonb($1::%s) #>> ''{}''', (
    select format_type(atttypid, null) from pg_catalog.pg_attribute where attrelid = relation and attname = column_name))
    into label using given;
  return label;
end $$;

-- A request's buckets, read: one line an entry, in order. label is '' for a table without a bucket column; filters
-- holds the other parameters. Entries of unregistered tables have no settings.
create or replace function kizunasync.read_buckets(buckets json)
returns table (n bigint, table_name text, params jsonb)
language plpgsql immutable set search_path = '' as $$
begin
  if buckets is null or json_typeof(buckets) <> 'array' then
    perform kizunasync.refuse_request('buckets must be an array', 'Send [{"table": "todos", "params": {}}].');
  end if;
  if json_array_length(buckets) > 64 then
    perform kizunasync.refuse_request(
      format('%s bucket entries are more than the 64 of one pull', json_array_length(buckets)), 'Ask for fewer tables.');
  end if;
  return query
    select e.ordinality, e.value ->> 'table', coalesce(nullif(e.value -> 'params', 'null'), '{}')
    from jsonb_array_elements(buckets::jsonb) with ordinality e;
  if exists (
    select from jsonb_array_elements(buckets::jsonb) e
    where jsonb_typeof(e) <> 'object' or jsonb_typeof(e -> 'table') is distinct from 'string'
      or jsonb_typeof(coalesce(nullif(e -> 'params', 'null'), '{}')) <> 'object'
      or exists (
        select from jsonb_each(
          case when jsonb_typeof(e -> 'params') = 'object' then e -> 'params' else '{}' end) p
        where jsonb_typeof(p.value) not in ('string', 'number', 'boolean')))
  then
    perform kizunasync.refuse_request(
      'a bucket entry is {"table": text, "params": {column: text, integer or boolean}}',
      'Send {} as params for a table without a bucket column.');
  end if;
end $$;

-- MARK: One page, by one snapshot

do $$
begin
  if to_regtype('kizunasync.page') is null then
    create type kizunasync.page as (
      body text,
      is_signal boolean,
      cursor text,
      grant_tables text[],
      grant_buckets text[]
    );
  end if;
end $$;

create or replace function kizunasync.signal_page(kind text, token text) returns kizunasync.page
language sql immutable set search_path = '' as $$
  select row(
    format('{"cursor":%s,"has_more":false,"rows":[],"signal":{"type":%s},"tombstones":[]}', to_json(token), to_json(kind)),
    true, token, '{}'::text[], '{}'::text[])::kizunasync.page
$$;

-- Whether a rendered row satisfies one entry: every parameter equals the row's cell.
create or replace function kizunasync.satisfies(image jsonb, wanted jsonb) returns boolean
language sql immutable set search_path = '' as $$
  select not exists (select from jsonb_each_text(wanted) p where (image ->> p.key) is distinct from p.value)
$$;

-- Stable: everything here, down to the application's rows, is read by the snapshot of the statement that calls it, so
-- that the horizon, the gates and the images belong together.
create or replace function kizunasync.build_page(
  buckets json, token text, schema_version integer, page_limit integer, caller text
) returns kizunasync.page
language plpgsql stable set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' set intervalstyle = 'postgres' as $$
declare
  entries jsonb[] := '{}';       -- {"table", "label", "params" with the bucket as its label}
  statements jsonb := '{}';      -- table -> how its rows are rendered
  entry record;
  wanted kizunasync.registered_tables;
  named text[];
  labels jsonb := '{}';
  relation oid;
  readable text[];
  label text;
  start_seq bigint;
  high bigint;
  holes bigint[];
  horizon bigint;
  reaped bigint;
  scan_cap integer;
  scope_tables text[];
  scope_labels text[];
  readables jsonb := '{}';
  candidate record;
  examined integer := 0;
  delivered integer := 0;
  position bigint := 0;
  last_delivered bigint;
  wanted_rows integer;
  in_chunk integer;
  more boolean := false;
  rows_out text[] := '{}';
  tombs_out text[] := '{}';
  row_tables text[] := '{}';
  row_pks text[] := '{}';
  row_seqs bigint[] := '{}';
  grant_tables text[] := '{}';
  grant_buckets text[] := '{}';
  cursor_out text;
  conflicts text;
  bucket_columns jsonb := '{}';
begin
  if page_limit < 1 then
    perform kizunasync.refuse_request(format('a limit of %s is less than 1', page_limit), 'Leave limit out for 500.');
  end if;
  if schema_version < 1 then
    perform kizunasync.refuse_request(format('a schema version of %s is less than 1', schema_version), 'Versions count from 1.');
  end if;
  select coalesce(array_agg(distinct b.table_name), '{}') into named from kizunasync.read_buckets(buckets) b;
  select c.start_seq, c.high, c.holes into start_seq, high, holes from kizunasync.parse_cursor(token) c;
  if schema_version is null or schema_version < kizunasync.minimum_schema(named) then
    return kizunasync.signal_page('RESET_REQUIRED', token);
  end if;

  -- What is asked of each table, and how its rows are rendered.
  for entry in select * from kizunasync.read_buckets(buckets) order by n loop
    select * into wanted from kizunasync.registered_tables r where r.table_name = entry.table_name;
    if not found then
      raise exception 'table % is not registered', entry.table_name
        using errcode = '0A000', hint = 'Register it upstream with kizunasync.register_table.';
    end if;
    if wanted.bucket_column is not null and not entry.params ? wanted.bucket_column then
      raise exception 'table % is scoped by %, which this pull does not name', entry.table_name, wanted.bucket_column
        using errcode = 'KZL01', hint = format('Configure the bucket column %s for the table.', wanted.bucket_column);
    end if;
  end loop;
  for entry in select * from kizunasync.read_buckets(buckets) order by n loop
    select * into wanted from kizunasync.registered_tables r where r.table_name = entry.table_name;
    relation := kizunasync.relation_of(wanted);
    if not readables ? entry.table_name then
      readable := kizunasync.readable_columns(relation, kizunasync.caller_role());
      if not readable @> (wanted.key_columns || array_remove(array[wanted.bucket_column], null)) then
        raise exception 'the key or bucket column of table % cannot be read by %', entry.table_name, kizunasync.caller_role()
          using errcode = 'KZL02', hint = format('Grant select (%s) on it.',
            array_to_string(wanted.key_columns || array_remove(array[wanted.bucket_column], null), ', '));
      end if;
      readables := readables || jsonb_build_object(entry.table_name, to_jsonb(readable));
      statements := statements
        || jsonb_build_object(entry.table_name, kizunasync.render_statement(wanted, kizunasync.caller_role()));
      bucket_columns := bucket_columns || jsonb_build_object(entry.table_name, wanted.bucket_column);
    end if;
    if wanted.bucket_column is null then
      label := '';
    else
      label := kizunasync.bucket_label(relation, wanted.bucket_column, entry.params ->> wanted.bucket_column);
      entry.params := entry.params || jsonb_build_object(wanted.bucket_column, label);
    end if;
    entries := entries
      || jsonb_build_object('table', entry.table_name, 'label', label, 'params', entry.params);
  end loop;

  select r.reaped_seq into reaped from kizunasync.reap_state r;
  if coalesce(start_seq, high) > 0 and coalesce(start_seq, high) < reaped then
    return kizunasync.signal_page('CHECKPOINT_EXPIRED', token);
  end if;

  select greatest(
      coalesce((select max(l.seq) from kizunasync.change_log l), 0),
      coalesce((select max(t.seq) from kizunasync.tombstones t), 0), high, reaped),
    s.max_pull_scan into horizon, scan_cap from kizunasync.settings s;
  select array_agg(e ->> 'table'), array_agg(e ->> 'label') into scope_tables, scope_labels
    from (select distinct on (e ->> 'table', e ->> 'label') e from unnest(entries) e) d;

  -- Candidates in number order, a chunk at a time, until the page is full and one more would follow.
  <<walk>>
  while examined < scan_cap and scope_tables is not null loop
    wanted_rows := least(scan_cap - examined, page_limit - delivered + 1 + 16);
    in_chunk := 0;
    for candidate in
      with chunk as materialized (
        select c.* from unnest(scope_tables, scope_labels) s(table_name, bucket)
        cross join lateral (
          select * from (
            (select l.seq, 'w'::"char" as kind, s.table_name, l.pk, s.bucket, null::timestamptz as deleted_at
              from kizunasync.change_log l
              where l.table_name = s.table_name and l.bucket = s.bucket and l.seq <= horizon
                and l.seq > greatest(high, position)
                and not exists (
                  select from kizunasync.change_log n
                  where n.table_name = l.table_name and n.pk = l.pk and n.seq > l.seq)
              order by l.seq limit wanted_rows)
            union all
            (select l.seq, 'w'::"char", s.table_name, l.pk, s.bucket, null
              from kizunasync.change_log l
              where l.seq = any (holes) and l.seq > position and l.table_name = s.table_name and l.bucket = s.bucket
                and not exists (
                  select from kizunasync.change_log n
                  where n.table_name = l.table_name and n.pk = l.pk and n.seq > l.seq)
              order by l.seq limit wanted_rows)
            union all
            (select t.seq, 'd'::"char", s.table_name, t.pk, s.bucket, t.deleted_at
              from kizunasync.tombstones t
              where t.table_name = s.table_name and t.bucket = s.bucket and t.seq <= horizon and t.seq > position
                and (t.seq > high or t.seq = any (holes))
                and exists (
                  select from kizunasync.grants g
                  where g.user_id = caller and g.table_name = s.table_name and g.bucket = s.bucket)
              order by t.seq limit wanted_rows)
          ) u order by u.seq limit wanted_rows
        ) c
        order by c.seq limit wanted_rows
      ), images as materialized (
        select g.table_name, r.pk, r.image
        from (select chunk.table_name, array_agg(distinct chunk.pk) as pks from chunk group by chunk.table_name) g
        cross join lateral kizunasync.render_rows(statements ->> g.table_name, g.pks) r
      ), visible as materialized (
        select i.* from images i
        where exists (
          select from unnest(entries) e
          where e ->> 'table' = i.table_name and kizunasync.satisfies(i.image, e -> 'params'))
      )
      select c.seq, c.kind, c.table_name, c.pk, c.bucket,
        case when c.kind = 'w' and v.pk is not null then
            format('{"table":%s,"pk":%s,"seq":"%s","row":%s}', to_json(c.table_name), to_json(c.pk), c.seq, v.image)
          when c.kind = 'd' and v.pk is null then
            format('{"table":%s,"pk":%s,"seq":"%s","deleted_at":%s}', to_json(c.table_name), to_json(c.pk), c.seq,
              to_json(c.deleted_at))
        end as line,
        coalesce(v.image ->> (bucket_columns ->> c.table_name), '') as bucket_now
      from chunk c left join visible v on v.table_name = c.table_name and v.pk = c.pk
      order by c.seq
    loop
      in_chunk := in_chunk + 1;
      if candidate.line is not null and delivered = page_limit then
        more := true;
        position := last_delivered;
        exit walk;
      end if;
      examined := examined + 1;
      position := candidate.seq;
      if candidate.line is null then continue; end if;
      delivered := delivered + 1;
      last_delivered := candidate.seq;
      if candidate.kind = 'd' then
        tombs_out := tombs_out || candidate.line;
      else
        rows_out := rows_out || candidate.line;
        row_tables := row_tables || candidate.table_name;
        row_pks := row_pks || candidate.pk;
        row_seqs := row_seqs || candidate.seq;
        grant_tables := grant_tables || candidate.table_name;
        grant_buckets := grant_buckets || candidate.bucket_now;
      end if;
      exit when examined = scan_cap;
    end loop;
    if in_chunk < wanted_rows then exit walk; end if;
  end loop;

  -- The cap ended the walk: is anything left behind it?
  if not more and examined = scan_cap and scope_tables is not null then
    more := exists (
      select from unnest(scope_tables, scope_labels) s(table_name, bucket)
      cross join lateral (
        (select 1 from kizunasync.change_log l
          where l.table_name = s.table_name and l.bucket = s.bucket and l.seq <= horizon and l.seq > position
            and (l.seq > high or l.seq = any (holes))
            and not exists (
              select from kizunasync.change_log n where n.table_name = l.table_name and n.pk = l.pk and n.seq > l.seq)
          limit 1)
        union all
        (select 1 from kizunasync.tombstones t
          where t.table_name = s.table_name and t.bucket = s.bucket and t.seq <= horizon and t.seq > position
            and (t.seq > high or t.seq = any (holes))
            and exists (
              select from kizunasync.grants g
              where g.user_id = caller and g.table_name = s.table_name and g.bucket = s.bucket)
          limit 1)
      ) x);
  end if;

  -- A hole is asked for again with all that lies behind the position, so that none needs to be named.
  cursor_out := case when more then format('%s:%s', coalesce(start_seq, high), position) else horizon::text end;
  select string_agg(
      format('{"table":%s,"pk":%s,"column_name":%s,"loser_value":%s,"winner_mutation_id":"%s","winner_seq":"%s","conflict_mode":"%s"}',
        to_json(o.table_name), to_json(o.pk), to_json(o.column_name), coalesce(o.loser_value, 'null'),
        o.winner_mutation_id, o.winner_seq, o.conflict_mode), ',' order by o.winner_seq, o.id)
    into conflicts
    from unnest(row_tables, row_pks, row_seqs) r(table_name, pk, seq)
    join kizunasync.overwrites o on o.winner_seq = r.seq and o.table_name = r.table_name and o.pk = r.pk
    where readables -> o.table_name ? o.column_name;

  return row(
    '{"cursor":' || to_json(cursor_out) || ',"has_more":' || more
      || ',"rows":[' || array_to_string(rows_out, ',') || '],"signal":null,"tombstones":['
      || array_to_string(tombs_out, ',') || ']' || coalesce(',"conflicts":[' || conflicts || ']', '') || '}',
    false, cursor_out, grant_tables, grant_buckets)::kizunasync.page;
end $$;

-- MARK: Clients

-- Remembers a client that has been answered, where a named table asks for that. A client id is one user's for good.
create or replace function kizunasync.touch_client(
  p_client_id uuid, p_tables text[], p_cursor text, p_last_mutation uuid, p_schema_version integer
) returns void
language plpgsql volatile set search_path = '' as $$
declare
  caller constant text := kizunasync.caller_id();
  own_key constant text := coalesce(p_client_id::text, nullif(kizunasync.claims() ->> 'session_id', ''));
begin
  if own_key is null or not exists (
    select from kizunasync.registered_tables r where r.table_name = any (p_tables) and r.register_clients)
  then
    return;
  end if;
  -- The upsert changes nothing of another user's entry.
  insert into kizunasync.clients as c (client_key, user_id, cursor, last_mutation_id, schema_version)
    values (own_key, caller, coalesce(p_cursor, '0'), p_last_mutation, p_schema_version)
    on conflict on constraint clients_pkey do update set
      cursor = coalesce(p_cursor, c.cursor), last_mutation_id = coalesce(p_last_mutation, c.last_mutation_id),
      schema_version = p_schema_version, last_seen = clock_timestamp()
      where c.user_id is not distinct from caller;
  if not found then
    raise exception 'the client id % is another user''s', own_key
      using errcode = '42501', hint = 'Reset the store, which mints a new client id.';
  end if;
  delete from kizunasync.clients c
    where c.client_key in (
      select o.client_key from kizunasync.clients o
      where o.user_id is not distinct from caller and o.client_key <> own_key
      order by o.last_seen desc offset 99);
end $$;

-- MARK: The call

create or replace function kizunasync.pull(
  buckets json, cursor text, schema_version integer, "limit" integer default 500, client_id uuid default null
) returns json
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_variable
declare
  page kizunasync.page;
  caller text;
begin
  perform kizunasync.enter();
  caller := kizunasync.caller_id();
  page := kizunasync.build_page(buckets, cursor, schema_version, coalesce("limit", 500), caller);
  if not page.is_signal then
    if caller is not null then
      insert into kizunasync.grants (user_id, table_name, bucket)
        select distinct caller, g.table_name, g.bucket
        from unnest(page.grant_tables, page.grant_buckets) g(table_name, bucket)
        where not exists (
          select from kizunasync.grants known
          where known.user_id = caller and known.table_name = g.table_name and known.bucket = g.bucket)
        on conflict do nothing;
    end if;
    perform kizunasync.touch_client(
      client_id, (select array_agg(b.table_name) from kizunasync.read_buckets(buckets) b), page.cursor, null, schema_version);
  end if;
  return page.body::json;
end $$;
