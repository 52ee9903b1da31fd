-- Who calls, and the few things that both halves of a call need: row keys, and rows under the caller's own rights.

create or replace function kizunasync.claims() returns jsonb
language sql stable set search_path = '' as $$
  select coalesce(nullif(current_setting('request.jwt.claims', true), ''), '{}')::jsonb
$$;

-- The caller's user id; null for one without an identity.
create or replace function kizunasync.caller_id() returns text
language sql stable set search_path = '' as $$
  select coalesce(
    nullif(kizunasync.claims() ->> 'sub', ''), nullif(current_setting('request.jwt.claim.sub', true), ''))
$$;

-- The role whose column privileges rule: the one set, the token's, or authenticated.
create or replace function kizunasync.caller_role() returns name
language sql stable set search_path = '' as $$
  select coalesce(
    (select rolname from pg_catalog.pg_roles where rolname = nullif(current_setting('role', true), 'none')),
    (select rolname from pg_catalog.pg_roles where rolname = kizunasync.claims() ->> 'role'),
    'authenticated')
$$;

-- Marks the transaction as one inside pull or push, without which the helpers that touch rows refuse.
create or replace function kizunasync.enter() returns void
language sql volatile set search_path = '' as $$
  select set_config('kizunasync.inside', pg_current_xact_id()::text, true)
$$;

create or replace function kizunasync.demand_inside() returns void
language plpgsql stable set search_path = '' as $$
begin
  -- Both are null in a session that has neither called nor written: that is no mark.
  if coalesce(current_setting('kizunasync.inside', true) <> pg_current_xact_id_if_assigned()::text, true) then
    raise exception 'this function is called by pull and push alone'
      using errcode = '42501', hint = 'Call kizunasync.pull or kizunasync.push.';
  end if;
end $$;

-- Maintenance and registration are not for those who come with a token, but for the service role's.
create or replace function kizunasync.demand_operator() returns void
language plpgsql stable set search_path = '' as $$
begin
  if coalesce(kizunasync.claims() ->> 'role', nullif(current_setting('request.jwt.claim.role', true), ''), 'service_role')
    <> 'service_role'
  then
    raise exception 'this function is for the service role or a session without a token'
      using errcode = '42501', hint = 'Run it as the database owner or with the service key.';
  end if;
end $$;

-- MARK: Row keys

-- SQL for the key text of a row that stands under `alias`: one column as its text, several as a JSON array of texts.
create or replace function kizunasync.key_expression(key_columns text[], alias text) returns text
language sql immutable set search_path = '' as $$
  select case
    when cardinality(key_columns) = 1 then format('%s.%I::text', alias, key_columns[1])
    else '''['' || ' || (
        select string_agg(format('to_json(%s.%I::text)::text', alias, c), ' || '', '' || ' order by n)
        from unnest(key_columns) with ordinality as k(c, n)) || ' || '']'''
    end
$$;

-- The same of a row rendered as JSON. In PL/pgSQL, which keeps its plan: every change of a row comes through here.
create or replace function kizunasync.key_of(row_image jsonb, key_columns text[]) returns text
language plpgsql immutable set search_path = '' as $$
begin
  if cardinality(key_columns) = 1 then return row_image ->> key_columns[1]; end if;
  return '[' || (
    select string_agg(to_json(row_image ->> c)::text, ', ' order by n)
    from unnest(key_columns) with ordinality as k(c, n)) || ']';
end $$;

-- SQL that finds the row of a key text: the text side is cast, so that the key's index serves.
create or replace function kizunasync.key_condition(
  relation oid, key_columns text[], alias text, pk_expression text
) returns text
language sql stable set search_path = '' as $$
  select string_agg(
    format('%s.%I = %s::%s', alias, k.c,
      case when cardinality(key_columns) = 1 then pk_expression
        else format('(%s::json ->> %s)', pk_expression, k.n - 1) end,
      format_type(a.atttypid, null)), ' and ' order by k.n)
  from unnest(key_columns) with ordinality as k(c, n)
  join pg_catalog.pg_attribute a on a.attrelid = relation and a.attname = k.c
$$;

-- MARK: Registered tables, with what the catalog says of them

create or replace function kizunasync.relation_of(wanted kizunasync.registered_tables) returns oid
language sql stable set search_path = '' as $$
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = wanted.schema_name and c.relname = wanted.table_name
$$;

-- The columns that the caller may read, in the table's order. The row role must be able to as well.
create or replace function kizunasync.readable_columns(relation oid, reader name) returns text[]
language sql stable set search_path = '' as $$
  select coalesce(array_agg(a.attname::text order by a.attnum), '{}')
  from pg_catalog.pg_attribute a
  where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
    and has_column_privilege(reader, relation, a.attnum, 'select')
    and has_column_privilege('kizunasync_rows', relation, a.attnum, 'select')
$$;

-- SQL for a row under `t` as JSON: these columns, and no other.
create or replace function kizunasync.row_expression(columns text[]) returns text
language sql immutable set search_path = '' as $$
  select case when cardinality(columns) = 0 then '''{}''::jsonb'
    else format('(select to_jsonb(x.*) from (select %s) x)',
      (select string_agg(format('t.%I', c), ', ' order by n) from unnest(columns) with ordinality as k(c, n))) end
$$;

-- Rows of one table by their keys, as the caller may see them. Stable, so that it reads by the snapshot of the
-- statement that calls it. The path is for the application's policies: their functions may rely on the one that REST
-- gives them.
create or replace function kizunasync.render_rows(statement text, pks text[])
returns table (pk text, image jsonb)
language plpgsql stable security definer set search_path = public, extensions, pg_temp set timezone = 'UTC'
set datestyle = 'ISO' set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
begin
  perform kizunasync.demand_inside();
  return query execute statement using pks;
end $$;

-- The statement for render_rows. A table with an unreadable key column has no readable rows.
create or replace function kizunasync.render_statement(wanted kizunasync.registered_tables, reader name) returns text
language plpgsql stable set search_path = '' as $$
declare
  relation oid := kizunasync.relation_of(wanted);
  columns text[] := kizunasync.readable_columns(relation, reader);
begin
  if not columns @> wanted.key_columns then
    return 'select null::text, null::jsonb where false and $1 is null';
  end if;
  return format(
    -- The fence makes each key a look-up of its own: as a join, a large table would be read from end to end.
    'select k.pk, r.image from unnest($1) as k(pk) cross join lateral (select %s as image from %I.%I t where %s offset 0) r',
    kizunasync.row_expression(columns), wanted.schema_name, wanted.table_name,
    kizunasync.key_condition(relation, wanted.key_columns, 't', 'k.pk'));
end $$;
