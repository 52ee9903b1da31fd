-- The upload half: a batch of mutations goes in, a verdict on each comes out.

-- MARK: Application rows, under the caller's own rights
-- These belong to the row role, which sees no bookkeeping: the statements are built by push, with every name qualified.
-- The path is for the application's triggers and policies: their functions may rely on the one that REST gives them.

-- The row of a key as the caller may read it, locked if the statement locks; null when there is none.
create or replace function kizunasync.rows_read(statement text, pk text) returns jsonb
language plpgsql volatile security definer set search_path = public, extensions, pg_temp as $$
declare
  image jsonb;
begin
  perform kizunasync.demand_inside();
  execute statement into image using pk;
  return image;
end $$;

-- Whether the row has these values; null when the caller can read no such row.
create or replace function kizunasync.rows_match(statement text, pk text, expected json) returns boolean
language plpgsql volatile security definer set search_path = public, extensions, pg_temp as $$
declare
  answer boolean;
begin
  perform kizunasync.demand_inside();
  execute statement into answer using pk, expected;
  return answer;
end $$;

-- Inserts, updates or deletes; answers how many rows it reached.
create or replace function kizunasync.rows_write(statement text, pk text, columns json, transforms jsonb) returns bigint
language plpgsql volatile security definer set search_path = public, extensions, pg_temp as $$
declare
  reached bigint;
begin
  perform kizunasync.demand_inside();
  execute statement using pk, columns, transforms;
  get diagnostics reached = row_count;
  return reached;
end $$;

-- A list with those operands appended that it lacks, in their order.
create or replace function kizunasync.rows_union(list text[], operands jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  if array_ndims(list) > 1 then
    raise exception 'only a flat list can be joined with values' using errcode = '22000';
  end if;
  return coalesce(list, '{}') || array(
    select o.value from (
      select value, min(place) as place from jsonb_array_elements_text(operands) with ordinality as e(value, place)
      group by value
    ) o
    where not exists (select from unnest(list) as l(value) where l.value = o.value)
    order by o.place);
end $$;

-- A list without any occurrence of the operands.
create or replace function kizunasync.rows_remove(list text[], operands jsonb) returns text[]
language plpgsql immutable set search_path = '' as $$
begin
  if array_ndims(list) > 1 then
    raise exception 'only a flat list can lose values' using errcode = '22000';
  end if;
  return array(
    select l.value from unnest(list) with ordinality as l(value, place)
    where not exists (select from jsonb_array_elements_text(operands) as o(value) where o.value = l.value)
    order by l.place);
end $$;

-- MARK: What a push must know of a table

create or replace function kizunasync.push_base_type(type oid) returns oid
language sql stable set search_path = '' as $$
  with recursive layer as (
    select t.oid, t.typtype, t.typbasetype from pg_catalog.pg_type t where t.oid = type
    union all
    select t.oid, t.typtype, t.typbasetype from layer join pg_catalog.pg_type t on t.oid = layer.typbasetype
    where layer.typtype = 'd'
  )
  select oid from layer where typtype <> 'd'
$$;

-- Whether values of a type compare by an equality that every search path finds; the others compare as jsonb.
create or replace function kizunasync.push_has_equality(base oid) returns boolean
language sql stable set search_path = '' as $$
  select element.typtype in ('e', 'r', 'm')
    or (element.typnamespace = 'pg_catalog'::regnamespace and (
      element.typname in ('varchar', 'cidr')
      or exists (
        select from pg_catalog.pg_opclass o join pg_catalog.pg_am m on m.oid = o.opcmethod
        where o.opcintype = element.oid and o.opcdefault and m.amname in ('btree', 'hash'))))
  from pg_catalog.pg_type t
  join pg_catalog.pg_type element on element.oid =
    case when t.typcategory = 'A' then kizunasync.push_base_type(t.typelem) else t.oid end
  where t.oid = base
$$;

-- The columns of a relation: how to write them, and what the caller may do with each.
create or replace function kizunasync.push_columns(relation oid, key_columns text[], caller name) returns jsonb
language sql stable set search_path = '' as $$
  select jsonb_object_agg(a.attname, jsonb_build_object(
    'type', format_type(a.atttypid, a.atttypmod),
    'base', format_type(b.base, null),
    'key', a.attname = any(key_columns),
    'generated', a.attgenerated <> '',
    'always', a.attidentity = 'a',
    'equality', kizunasync.push_has_equality(b.base),
    'read', has_column_privilege(caller, relation, a.attnum, 'select')
      and has_column_privilege('kizunasync_rows', relation, a.attnum, 'select'),
    'insert', has_column_privilege(caller, relation, a.attnum, 'insert')
      and has_column_privilege('kizunasync_rows', relation, a.attnum, 'insert'),
    'update', has_column_privilege(caller, relation, a.attnum, 'update')
      and has_column_privilege('kizunasync_rows', relation, a.attnum, 'update')))
  from pg_catalog.pg_attribute a
  cross join lateral (select kizunasync.push_base_type(a.atttypid) as base) b
  where a.attrelid = relation and a.attnum > 0 and not a.attisdropped
$$;

-- The primary keys of a table and of its partitions, by which a taken key is told from any other collision.
create or replace function kizunasync.push_key_constraints(relation oid) returns text[]
language sql stable set search_path = '' as $$
  select array_agg(format('%I.%I', n.nspname, c.relname))
  from pg_catalog.pg_index i
  join pg_catalog.pg_class c on c.oid = i.indexrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where i.indisprimary
    and i.indrelid in (select relation union all select p.relid from pg_partition_tree(relation) p)
$$;

-- All that the mutations of one table need, gathered once a push; null when the table is gone.
create or replace function kizunasync.push_target(wanted kizunasync.registered_tables, caller name) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  relation oid := kizunasync.relation_of(wanted);
  name text := format('%I.%I', wanted.schema_name, wanted.table_name);
  columns jsonb;
  condition text;
  image text := kizunasync.row_expression(kizunasync.readable_columns(relation, caller));
  readable_key boolean;
  updatable boolean;
begin
  if relation is null then
    return null;
  end if;
  columns := kizunasync.push_columns(relation, wanted.key_columns, caller);
  condition := kizunasync.key_condition(relation, wanted.key_columns, 't', '$1');
  select bool_and((columns -> c ->> 'read')::boolean) into readable_key from unnest(wanted.key_columns) c;
  select bool_or((value ->> 'update')::boolean) into updatable from jsonb_each(columns);
  return jsonb_build_object(
    'table', wanted.table_name,
    'name', name,
    'pull_only', wanted.sync_mode = 'pull-only',
    'hlc', wanted.conflict_mode = 'hlc',
    'mode', wanted.conflict_mode,
    'journal', wanted.conflict_journal,
    'keys', to_jsonb(wanted.key_columns),
    'key_types', (
      select jsonb_agg(columns -> c ->> 'base' order by place)
      from unnest(wanted.key_columns) with ordinality as k(c, place)),
    'key_values', (
      select string_agg(
        format('%s::%s',
          case when cardinality(wanted.key_columns) = 1 then '$1' else format('($1::json ->> %s)', place - 1) end,
          columns -> c ->> 'base'), ', ' order by place)
      from unnest(wanted.key_columns) with ordinality as k(c, place)),
    'key_constraints', to_jsonb(kizunasync.push_key_constraints(relation)),
    'columns', columns,
    'condition', condition,
    'delete', readable_key and has_table_privilege(caller, relation, 'delete')
      and has_table_privilege('kizunasync_rows', relation, 'delete'),
    -- A row whose key the caller cannot read is no row to it.
    'read', case when readable_key then format('select %s from %s t where %s', image, name, condition) end,
    -- Without the right to read the key or to update anything there is no row that the caller could lock.
    'lock', case when readable_key and updatable then format(
      'select %s from %s t where %s for no key update of t',
      case when wanted.conflict_journal then image else '''{}''::jsonb' end, name, condition) end);
end $$;

-- MARK: Shape

create or replace function kizunasync.push_refuse(code text, message text, hint text) returns void
language plpgsql immutable set search_path = '' as $$
begin
  raise exception using errcode = code, message = message, hint = hint;
end $$;

-- Whether a key text is the one spelling that its row renders to.
create or replace function kizunasync.push_is_canonical(pk text, key_types text[]) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
  parts text[] := array[pk];
  all_texts boolean;
  part text;
begin
  if cardinality(key_types) > 1 then
    begin
      select array_agg(e.value #>> '{}' order by e.place), bool_and(json_typeof(e.value) = 'string')
      into parts, all_texts
      from json_array_elements(pk::json) with ordinality as e(value, place);
    exception when data_exception then
      return false;
    end;
    if all_texts is not true or cardinality(parts) <> cardinality(key_types)
      or pk <> (
        select '[' || string_agg(to_json(p)::text, ', ' order by place) || ']'
        from unnest(parts) with ordinality as k(p, place))
    then
      return false;
    end if;
  end if;
  for i in 1 .. cardinality(key_types) loop
    part := parts[i];
    case key_types[i]
      when 'uuid' then
        if part !~ '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then
          return false;
        end if;
      when 'smallint', 'integer', 'bigint' then
        if part !~ '^(0|-?[1-9][0-9]{0,18})$' then
          return false;
        end if;
        if not part::numeric <@ (
          case key_types[i]
            when 'smallint' then numrange(-32768, 32767, '[]')
            when 'integer' then numrange(-2147483648, 2147483647, '[]')
            else numrange(-9223372036854775808, 9223372036854775807, '[]') end)
        then
          return false;
        end if;
      else
        null;
    end case;
  end loop;
  return true;
end $$;

-- Refuses transforms that the menu does not have.
create or replace function kizunasync.push_check_transforms(transforms jsonb, place text) returns void
language plpgsql immutable set search_path = '' as $$
declare
  column_name text;
  transform jsonb;
begin
  for column_name, transform in select key, value from jsonb_each(transforms) loop
    if jsonb_typeof(transform) <> 'object'
      or coalesce(transform ->> 'op', '') not in ('increment', 'arrayUnion', 'arrayRemove')
    then
      perform kizunasync.push_refuse('22023', format('%s: no such transform on %s', place, column_name),
        'A transform is an object whose op is increment, arrayUnion or arrayRemove.');
    elsif transform ->> 'op' = 'increment' then
      if coalesce(jsonb_typeof(transform -> 'by'), '') not in ('number', 'string')
        or transform ->> 'by' !~ '^-?[0-9]+(\.[0-9]+)?$'
      then
        perform kizunasync.push_refuse('22023', format('%s: by is not a number on %s', place, column_name),
          'Send by as an integer, or as decimal digits in a string.');
      end if;
    elsif coalesce(jsonb_typeof(transform -> 'values'), '') <> 'array'
      or jsonb_array_length(transform -> 'values') = 0
      or exists (
        select from jsonb_array_elements(transform -> 'values') v
        where jsonb_typeof(v) not in ('string', 'number', 'boolean'))
    then
      perform kizunasync.push_refuse('22023', format('%s: values is not a list of values on %s', place, column_name),
        'Send values as an array of at least one string, number or boolean.');
    end if;
  end loop;
end $$;

-- Refuses a stamp that does not read instant|counter|node.
create or replace function kizunasync.push_check_stamp(stamp json, place text) returns void
language plpgsql stable set search_path = '' as $$
begin
  if stamp is null or json_typeof(stamp) <> 'string'
    or stamp #>> '{}' !~ '^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z\|\d+\|.+$'
  then
    perform kizunasync.push_refuse('22023', format('%s: hlc is missing or malformed', place),
      'This table compares stamps: send hlc as 2026-01-31T12:00:00.000Z|0|node.');
  end if;
  perform split_part(stamp #>> '{}', '|', 1)::timestamptz;
end $$;

-- Refuses, for the whole push, a mutation that cannot be understood or is not allowed at all.
create or replace function kizunasync.push_check(mutation json, place text, targets jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  m record;
  target jsonb;
  twice text;
begin
  if json_typeof(mutation) <> 'object' then
    perform kizunasync.push_refuse('22023', format('%s is not an object', place), 'Send each mutation as an object.');
  end if;
  select * into m from json_to_record(mutation) as x(
    mutation_id json, "table" json, pk json, op json, columns json, precondition json, transforms json, hlc json);
  if m.mutation_id is null or json_typeof(m.mutation_id) <> 'string'
    or m.mutation_id #>> '{}' !~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$'
  then
    perform kizunasync.push_refuse('22023', format('%s: mutation_id is not a uuid', place),
      'Mint one uuid for each mutation and keep it for every resend.');
  end if;
  if m.table is null or json_typeof(m.table) <> 'string' then
    perform kizunasync.push_refuse('22023', format('%s: table is not a string', place), 'Name a registered table.');
  end if;
  target := targets -> (m.table #>> '{}');
  if target is null then
    perform kizunasync.push_refuse('0A000', format('%s: table %s is not registered', place, m.table #>> '{}'),
      'Register it with kizunasync.register_table, or take it out of the client.');
  end if;
  if (target ->> 'pull_only')::boolean then
    perform kizunasync.push_refuse('KZP01', format('%s: table %s is pull-only', place, m.table #>> '{}'),
      'Register the table as read-write to accept changes from clients.');
  end if;
  if m.op is null or json_typeof(m.op) <> 'string' or m.op #>> '{}' not in ('insert', 'update', 'delete') then
    perform kizunasync.push_refuse('22023', format('%s: no such op', place), 'op is insert, update or delete.');
  end if;
  if m.pk is null or json_typeof(m.pk) <> 'string' or m.pk #>> '{}' = ''
    or not kizunasync.push_is_canonical(
      m.pk #>> '{}', array(select jsonb_array_elements_text(target -> 'key_types')))
  then
    perform kizunasync.push_refuse('22023', format('%s: pk is not the canonical key of %s', place, m.table #>> '{}'),
      'Send the key as the server renders it: a lowercase uuid, plain digits, or ["a", "b"] for several columns.');
  end if;
  if (m.columns is null and m.op #>> '{}' <> 'delete') or json_typeof(m.columns) <> 'object'
    or json_typeof(m.precondition) <> 'object' or json_typeof(m.transforms) <> 'object'
  then
    perform kizunasync.push_refuse('22023', format('%s: columns, precondition and transforms are objects', place),
      'Send columns always, {} when nothing is assigned; leave out the other two when they are empty.');
  end if;
  if m.transforms is not null and m.transforms::jsonb <> '{}' then
    if m.op #>> '{}' <> 'update' then
      perform kizunasync.push_refuse('22023', format('%s: transforms go with an update alone', place),
        'Leave transforms out of an insert or a delete.');
    end if;
    perform kizunasync.push_check_transforms(m.transforms::jsonb, place);
    select c into twice from json_object_keys(m.columns) c where m.transforms::jsonb ? c;
    if twice is not null then
      perform kizunasync.push_refuse('22023', format('%s: %s is both assigned and transformed', place, twice),
        'Send two mutations, or one value.');
    end if;
  end if;
  if (target ->> 'hlc')::boolean then
    perform kizunasync.push_check_stamp(m.hlc, place);
  end if;
end $$;

-- MARK: Steps of one mutation

-- A row as it stands now and as the caller may see it; null when it may not.
create or replace function kizunasync.push_image(target jsonb, pk text) returns jsonb
language plpgsql volatile set search_path = '' as $$
begin
  return case when target ->> 'read' is not null then kizunasync.rows_read(target ->> 'read', pk) end;
end $$;

-- How the latest change of a row forbids another: it was removed, by this transaction or by a committed one. Null when
-- it was not. A value that a row moved away from leaves a tombstone too, but below the write that moved it.
create or replace function kizunasync.push_removal(wanted_table text, wanted_pk text, caller text) returns text
language plpgsql volatile set search_path = '' as $$
declare
  own "char";
  left_bucket text;
begin
  select p.kind into own from kizunasync.pending_changes p
  where p.xid = pg_current_xact_id() and p.table_name = wanted_table and p.pk = wanted_pk
  order by p.ord desc limit 1;
  if found then
    return case when own = 'd' then 'DELETE_WINS' end;
  end if;
  select t.bucket into left_bucket from kizunasync.tombstones t
  where t.table_name = wanted_table and t.pk = wanted_pk
    and not exists (
      select from kizunasync.change_log l
      where l.table_name = wanted_table and l.pk = wanted_pk and l.seq > t.seq)
  order by t.seq desc limit 1;
  if not found then
    return null;
  end if;
  perform from kizunasync.grants g
  where g.user_id = caller and g.table_name = wanted_table and g.bucket = left_bucket;
  return case when found then 'DELETE_WINS' else 'RLS_DENIED' end;
end $$;

-- Whether the caller's column privileges allow the mutation. An insert over a row that is there updates it.
create or replace function kizunasync.push_gate(
  target jsonb, op text, mask text[], transformed text[], over_existing boolean
) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  known jsonb := target -> 'columns';
  stranger text;
  allowed boolean;
begin
  if op = 'delete' then
    return (target ->> 'delete')::boolean;
  end if;
  select c into stranger from unnest(mask || transformed) c where not known ? c limit 1;
  if stranger is not null then
    perform kizunasync.push_refuse('42703', format('table %s has no column %s', target ->> 'table', stranger),
      'Bring the client''s schema in step with the server''s.');
  end if;
  if op = 'insert' then
    select bool_and(
      (known -> c ->> 'insert')::boolean and not (known -> c ->> 'generated')::boolean
      and (not over_existing or (known -> c ->> 'key')::boolean or (known -> c ->> 'update')::boolean))
    into allowed
    from unnest(mask || array(select jsonb_array_elements_text(target -> 'keys'))) c;
  else
    select bool_and(
      (known -> c ->> 'update')::boolean
      and not (known -> c ->> 'generated')::boolean and not (known -> c ->> 'key')::boolean
      and ((known -> c ->> 'read')::boolean or not c = any(transformed)))
    into allowed
    from unnest(mask || transformed) c;
  end if;
  return coalesce(allowed, true);
end $$;

-- SQL that compares the columns of a row `t` with expected values in `x`, and the record that x is.
create or replace function kizunasync.push_comparison(
  target jsonb, names text[], out condition text, out record_source text
)
language plpgsql immutable set search_path = '' as $$
begin
  select
    string_agg(
      format(
        case when (target -> 'columns' -> c ->> 'equality')::boolean then 't.%1$I is not distinct from x.%1$I'
          else 'coalesce(to_jsonb(t.%1$I), ''null'') = coalesce(to_jsonb(x.%1$I), ''null'')' end, c), ' and '),
    format('json_to_record($2) as x(%s)', string_agg(format('%I %s', c, target -> 'columns' -> c ->> 'type'), ', '))
  into condition, record_source
  from unnest(names) c;
end $$;

-- Whether the row that the caller reads has the expected values; null when there is none, false for a column that the
-- caller cannot read. A value that its type refuses raises.
create or replace function kizunasync.push_expectation_holds(target jsonb, pk text, expected json) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  names text[] := array(select distinct k from json_object_keys(expected) k);
  comparison record;
begin
  if exists (
    select from unnest(names || array(select jsonb_array_elements_text(target -> 'keys'))) c
    where (target -> 'columns' -> c ->> 'read')::boolean is not true)
  then
    return false;
  end if;
  comparison := kizunasync.push_comparison(target, names);
  return kizunasync.rows_match(
    format('select %s from %s t, %s where %s',
      comparison.condition, target ->> 'name', comparison.record_source, target ->> 'condition'),
    pk, expected);
end $$;

-- Deletes the row as long as it is as expected, and says why nothing was deleted.
create or replace function kizunasync.push_delete(target jsonb, pk text, expected json, caller text) returns text
language plpgsql volatile set search_path = '' as $$
declare
  statement text;
  comparison record;
begin
  if expected is null then
    statement := format('delete from %s t where %s', target ->> 'name', target ->> 'condition');
  else
    -- The expectation is part of the statement, so that it holds for the row as it is when it is locked.
    comparison := kizunasync.push_comparison(target, array(select distinct k from json_object_keys(expected) k));
    statement := format('delete from %s t using %s where %s and %s',
      target ->> 'name', comparison.record_source, target ->> 'condition', comparison.condition);
  end if;
  if kizunasync.rows_write(statement, pk, expected, null) > 0 then
    return null;
  end if;
  if kizunasync.push_removal(target ->> 'table', pk, caller) = 'DELETE_WINS' then
    return 'DELETE_WINS';
  end if;
  if expected is not null and not kizunasync.push_expectation_holds(target, pk, expected) then
    return 'PRECONDITION';
  end if;
  return 'RLS_DENIED';
end $$;

-- Whether the key columns that an insert names are those of its key. One that the database alone may assign is refused.
create or replace function kizunasync.push_keys_agree(target jsonb, pk text, columns json) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
  keys text[] := array(select jsonb_array_elements_text(target -> 'keys'));
  named text;
  part text;
begin
  for i in 1 .. cardinality(keys) loop
    continue when columns -> keys[i] is null;
    named := columns ->> keys[i];
    part := case when cardinality(keys) = 1 then pk else pk::json ->> (i - 1) end;
    if named is null or (target -> 'columns' -> keys[i] ->> 'always')::boolean then
      return false;
    end if;
    named := case target -> 'key_types' ->> (i - 1)
      when 'uuid' then named::uuid::text
      when 'smallint' then named::smallint::text
      when 'integer' then named::integer::text
      when 'bigint' then named::bigint::text
      else named end;
    if named <> part collate "C" then
      return false;
    end if;
  end loop;
  return true;
end $$;

-- Whether every transform fits the type of its column.
create or replace function kizunasync.push_transforms_fit(target jsonb, transforms jsonb) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return (select coalesce(bool_and(
    case
      when value ->> 'op' <> 'increment' then target -> 'columns' -> key ->> 'base' = 'text[]'
      when target -> 'columns' -> key ->> 'base' = 'numeric' then true
      else target -> 'columns' -> key ->> 'base' in ('smallint', 'integer', 'bigint')
        and trunc((value ->> 'by')::numeric) = (value ->> 'by')::numeric
    end), true)
  from jsonb_each(transforms));
end $$;

-- SQL that writes these columns of $2 and these transforms of $3 into the row of $1.
create or replace function kizunasync.push_update_statement(target jsonb, mask text[], transforms jsonb) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return format('update %s t set %s%s where %s',
    target ->> 'name',
    concat_ws(', ',
      (select string_agg(format('%1$I = x.%1$I', c), ', ') from unnest(mask) c),
      (select string_agg(
        format(
          case value ->> 'op'
            when 'increment' then '%1$I = coalesce(t.%1$I, 0) + ($3 -> %2$L ->> ''by'')::numeric'
            when 'arrayUnion' then '%1$I = kizunasync.rows_union(t.%1$I, $3 -> %2$L -> ''values'')'
            else '%1$I = kizunasync.rows_remove(t.%1$I, $3 -> %2$L -> ''values'')' end, key, key), ', ')
        from jsonb_each(transforms))),
    (select format(' from json_to_record($2) as x(%s)',
        string_agg(format('%I %s', c, target -> 'columns' -> c ->> 'type'), ', '))
      from unnest(mask) c having count(*) > 0),
    target ->> 'condition');
end $$;

-- SQL that inserts the row of key $1 with these columns of $2.
create or replace function kizunasync.push_insert_statement(target jsonb, mask text[]) returns text
language plpgsql immutable set search_path = '' as $$
begin
  return format('insert into %s (%s) select %s%s',
    target ->> 'name',
    (select string_agg(format('%I', c), ', ' order by place)
      from (select * from jsonb_array_elements_text(target -> 'keys') with ordinality
        union all
        select c, 1000000 + place from unnest(mask) with ordinality as m(c, place)) as named(c, place)),
    concat_ws(', ', target ->> 'key_values',
      (select string_agg(format('x.%I', c), ', ' order by place) from unnest(mask) with ordinality as m(c, place))),
    (select format(' from json_to_record($2) as x(%s)',
        string_agg(format('%I %s', c, target -> 'columns' -> c ->> 'type'), ', '))
      from unnest(mask) c having count(*) > 0));
end $$;

-- A stamp whose instant runs no further ahead of the server than is tolerated.
create or replace function kizunasync.push_clamp(stamp text, skew_ms integer) returns text
language plpgsql volatile set search_path = '' as $$
begin
  return least(
      split_part(stamp, '|', 1) collate "C",
      to_char((clock_timestamp() + skew_ms * interval '1 ms') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        collate "C")
    || substr(stamp, strpos(stamp, '|'));
end $$;

-- Whether a stamp is strictly later than the one stored; any is later than none.
create or replace function kizunasync.push_is_later(stamp text, stored text) returns boolean
language plpgsql immutable set search_path = '' as $$
begin
  return stored is null or (
      split_part(stamp, '|', 1) collate "C", split_part(stamp, '|', 2)::numeric,
      regexp_replace(stamp, '^[^|]*[|][^|]*[|]', '') collate "C")
    > (
      split_part(stored, '|', 1) collate "C", split_part(stored, '|', 2)::numeric,
      regexp_replace(stored, '^[^|]*[|][^|]*[|]', '') collate "C");
end $$;

-- Notes the values that an assignment replaced. What was null, or reads the same afterwards, was not overwritten.
create or replace function kizunasync.push_journal(
  target jsonb, wanted_pk text, mask text[], before jsonb, mutation_id uuid
) returns void
language plpgsql volatile set search_path = '' as $$
declare
  after jsonb;
  change bigint;
begin
  after := kizunasync.push_image(target, wanted_pk);
  select max(p.ord) into change from kizunasync.pending_changes p
  where p.xid = pg_current_xact_id() and p.table_name = target ->> 'table' and p.pk = wanted_pk and p.kind = 'w';
  insert into kizunasync.overwrites (
    table_name, pk, column_name, loser_value, winner_mutation_id, conflict_mode, pending_ord)
  select target ->> 'table', wanted_pk, c, before -> c, push_journal.mutation_id, target ->> 'mode', change
  from unnest(mask) c
  where jsonb_typeof(before -> c) <> 'null' and before -> c is distinct from after -> c
    and change is not null;
end $$;

-- Applies an insert or update: null when it landed, else the reason why not, or RETRY when a row came up meanwhile.
-- `before` is the row once it was locked; null when there was none to lock.
create or replace function kizunasync.push_write(
  target jsonb, id uuid, wanted_pk text, op text, columns json, mask text[], transforms jsonb, hlc text, before jsonb,
  attempt integer, skew_ms integer
) returns text
language plpgsql volatile set search_path = '' as $$
declare
  compares boolean := (target ->> 'hlc')::boolean and cardinality(mask) > 0;
  winners text[] := mask;
  fits boolean := transforms = '{}' or kizunasync.push_transforms_fit(target, transforms);
  stamp text;
  stored jsonb;
begin
  if compares then
    stamp := kizunasync.push_clamp(hlc, skew_ms);
    -- Two that bring one new key meet here: the second waits, and then finds the first one's row.
    insert into kizunasync.hlc_state (table_name, pk) values (target ->> 'table', wanted_pk) on conflict do nothing;
    select s.stamps into stored from kizunasync.hlc_state s
    where s.table_name = target ->> 'table' and s.pk = wanted_pk for update;
    if before is not null then
      winners := array(select c from unnest(mask) c where kizunasync.push_is_later(stamp, stored ->> c));
      if cardinality(winners) = 0 and transforms = '{}' then
        return 'SUPERSEDED';
      end if;
    elsif stored <> '{}' and attempt = 1 then
      return 'RETRY';
    end if;
  end if;
  if before is null then
    if kizunasync.rows_write(kizunasync.push_insert_statement(target, winners), wanted_pk, columns, null) = 0 then
      return 'RLS_DENIED';
    end if;
  elsif cardinality(winners) > 0 or (fits and transforms <> '{}') then
    if kizunasync.rows_write(
      kizunasync.push_update_statement(target, winners, case when fits then transforms else '{}' end),
      wanted_pk, columns, transforms) = 0
    then
      return 'RLS_DENIED';
    end if;
  end if;
  if not fits then
    return 'CONSTRAINT';
  end if;
  if compares and cardinality(winners) > 0 then
    update kizunasync.hlc_state s
    set stamps = case when before is null then '{}' else s.stamps end
      || (select jsonb_object_agg(c, stamp) from unnest(winners) c)
    where s.table_name = target ->> 'table' and s.pk = wanted_pk;
  end if;
  if (target ->> 'journal')::boolean and before is not null and cardinality(winners) > 0 then
    perform kizunasync.push_journal(target, wanted_pk, winners, before, id);
  end if;
  return null;
end $$;

-- MARK: Verdicts

-- A verdict as it is sent. A rejection always shows a row or null, an application shows a row or nothing.
create or replace function kizunasync.push_verdict(mutation_id text, reason text, server_row jsonb) returns json
language plpgsql immutable set search_path = '' as $$
begin
  return case
    when reason is not null then json_build_object(
      'mutation_id', mutation_id, 'verdict', 'rejected', 'reason', reason, 'server_row', server_row)
    when server_row is not null then json_build_object(
      'mutation_id', mutation_id, 'verdict', 'applied', 'server_row', server_row)
    else json_build_object('mutation_id', mutation_id, 'verdict', 'applied') end;
end $$;

-- The verdict on a mutation that was decided before: its user hears it again with the row as it stands, others learn
-- nothing.
create or replace function kizunasync.push_replay(
  told kizunasync.ledger, mutation_id text, targets jsonb, caller text, caller_role name
) returns json
language plpgsql volatile set search_path = '' as $$
declare
  target jsonb;
  image jsonb;
begin
  if told.user_id is distinct from caller then
    return kizunasync.push_verdict(mutation_id, 'RLS_DENIED', null);
  end if;
  if (told.verdict ->> 'has_row')::boolean then
    target := targets -> told.table_name;
    if target is null then
      select kizunasync.push_target(r, caller_role) into target
      from kizunasync.registered_tables r where r.table_name = told.table_name;
    end if;
    image := kizunasync.push_image(target, told.pk);
  end if;
  return kizunasync.push_verdict(
    mutation_id, case when told.verdict ->> 'verdict' = 'rejected' then told.verdict ->> 'reason' end, image);
end $$;

-- Decides a mutation that is not in the ledger: null when it was applied, else the reason. `hide` says that no row goes
-- with the reason, whatever is to be seen.
create or replace function kizunasync.push_attempt(
  mutation json, target jsonb, caller text, skew_ms integer, out reason text, out hide boolean, out transformed boolean
)
language plpgsql volatile set search_path = '' as $$
declare
  m record;
  transforms jsonb;
  mask text[];
  plain_mask text[];
  before jsonb;
  outcome text;
  attempt integer := 0;
  state text;
  message text;
  violated text;
begin
  select * into m from json_to_record(mutation) as x(
    mutation_id uuid, "table" text, pk text, op text, columns json, precondition json, transforms jsonb, hlc text);
  transforms := coalesce(m.transforms, '{}');
  mask := case when m.op = 'delete' then '{}' else array(select distinct k from json_object_keys(m.columns) k) end;
  plain_mask := array(select c from unnest(mask) c where not target -> 'keys' ? c);
  if json_typeof(m.precondition) = 'object' and m.precondition::text !~ '[^{}\s]' then
    m.precondition := null;
  end if;
  transformed := transforms <> '{}';
  hide := false;
  loop
    attempt := attempt + 1;
    if m.op <> 'delete' and target ->> 'lock' is not null then
      before := kizunasync.rows_read(target ->> 'lock', m.pk);
    end if;
    -- Only now: whoever removed the row while the lock was awaited has committed.
    reason := kizunasync.push_removal(m.table, m.pk, caller);
    if reason is not null then
      hide := true;
      return;
    end if;
    if not kizunasync.push_gate(
      target, m.op, mask, array(select jsonb_object_keys(transforms)), before is not null)
    then
      reason := 'COLUMN_DENIED';
      return;
    end if;
    outcome := null;
    begin
      if m.precondition is not null
        and kizunasync.push_expectation_holds(target, m.pk, m.precondition) is not true
      then
        outcome := 'PRECONDITION';
      elsif m.op = 'delete' then
        outcome := kizunasync.push_delete(target, m.pk, m.precondition, caller);
      elsif m.op = 'update' and (before is null or (cardinality(mask) = 0 and not transformed)) then
        outcome := 'RLS_DENIED';
      elsif m.op = 'insert' and not kizunasync.push_keys_agree(target, m.pk, m.columns) then
        outcome := 'CONSTRAINT';
      else
        outcome := kizunasync.push_write(
          target, m.mutation_id, m.pk, m.op, m.columns, plain_mask, transforms, m.hlc, before, attempt, skew_ms);
      end if;
      if outcome is not null then
        -- Takes back whatever was written so far.
        raise exception 'rejected' using errcode = 'KZM01';
      end if;
      return;
    exception when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text;
      if state = 'KZM01' and outcome is not null then
        if outcome <> 'RETRY' then
          reason := outcome;
          return;
        end if;
      elsif state = '23505' then
        get stacked diagnostics violated = constraint_name;
        if m.op <> 'insert' or before is not null
          or not coalesce(target -> 'key_constraints' ? (
            select format('%I.%I', n.nspname, c.relname)
            from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where c.relname = violated and target -> 'key_constraints' ? format('%I.%I', n.nspname, c.relname)
            limit 1), false)
        then
          reason := 'CONSTRAINT';
          return;
        elsif attempt > 1 then
          -- The key is taken by a row that the caller cannot lock.
          reason := 'RLS_DENIED';
          return;
        end if;
      elsif state = '42501' and message like 'new row violates row-level security policy%' then
        reason := 'RLS_DENIED';
        return;
      elsif left(state, 2) in ('22', '23') or state in ('P0001', '428C9') then
        reason := 'CONSTRAINT';
        return;
      else
        raise;
      end if;
    end;
  end loop;
end $$;

-- The verdict on one mutation, recorded. Its id is claimed first, so that of two identical pushes one waits for the
-- other and repeats what it was told.
create or replace function kizunasync.push_decide(
  mutation json, targets jsonb, caller text, caller_role name, skew_ms integer
) returns json
language plpgsql volatile set search_path = '' as $$
declare
  sent_id text := mutation ->> 'mutation_id';
  target jsonb := targets -> (mutation ->> 'table');
  wanted_pk text := mutation ->> 'pk';
  told kizunasync.ledger;
  decision record;
  image jsonb;
begin
  loop
    insert into kizunasync.ledger (mutation_id, user_id, table_name, pk, verdict)
    values (sent_id::uuid, caller, target ->> 'table', wanted_pk, '{}')
    on conflict do nothing;
    exit when found;
    select l.* into told from kizunasync.ledger l where l.mutation_id = sent_id::uuid;
    if found then
      return kizunasync.push_replay(told, sent_id, targets, caller, caller_role);
    end if;
  end loop;
  decision := kizunasync.push_attempt(mutation, target, caller, skew_ms);
  if (decision.reason is not null and not decision.hide) or (decision.reason is null and decision.transformed) then
    image := kizunasync.push_image(target, wanted_pk);
  end if;
  update kizunasync.ledger l
  set verdict = case
    when decision.reason is null then jsonb_build_object('verdict', 'applied', 'has_row', image is not null)
    else jsonb_build_object('verdict', 'rejected', 'reason', decision.reason, 'has_row', image is not null) end
  where l.mutation_id = sent_id::uuid;
  return kizunasync.push_verdict(sent_id, decision.reason, image);
end $$;

-- MARK: The call

-- What a push is told before it may begin; raises for a batch that cannot be taken at all.
create or replace function kizunasync.push_targets(batch json, named text[], caller_role name) returns jsonb
language plpgsql stable set search_path = '' as $$
declare
  targets jsonb;
  limits record;
begin
  if json_typeof(batch) is distinct from 'object' or json_typeof(batch -> 'mutations') is distinct from 'array'
    or coalesce(json_typeof(batch -> 'atomic'), 'null') not in ('boolean', 'null')
  then
    perform kizunasync.push_refuse('22023', 'batch is not an object with a list of mutations',
      'Send {"atomic": false, "mutations": [...]}.');
  end if;
  select s.max_batch_size, s.require_atomic into limits from kizunasync.settings s;
  if json_array_length(batch -> 'mutations') > limits.max_batch_size then
    perform kizunasync.push_refuse('KZP02',
      format('a push takes %s mutations at most, not %s', limits.max_batch_size,
        json_array_length(batch -> 'mutations')),
      'Send smaller batches, or raise max_batch_size.');
  end if;
  if limits.require_atomic and coalesce(batch ->> 'atomic', 'false') <> 'true' then
    perform kizunasync.push_refuse('KZP03', 'this server takes atomic batches only', 'Send atomic as true.');
  end if;
  select coalesce(jsonb_object_agg(r.table_name, t.target), '{}') into targets
  from kizunasync.registered_tables r
  cross join lateral (select kizunasync.push_target(r, caller_role) as target) t
  where r.table_name = any(named) and t.target is not null;
  perform kizunasync.push_check(e.mutation, format('mutations[%s]', e.place - 1), targets)
  from json_array_elements(batch -> 'mutations') with ordinality as e(mutation, place);
  return targets;
end $$;

create or replace function kizunasync.push(
  batch json, last_mutation_id uuid, schema_version integer, client_id uuid default null
) returns json
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set datestyle = 'ISO'
set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
declare
  caller text := kizunasync.caller_id();
  caller_role name := kizunasync.caller_role();
  atomic boolean := false;
  named text[] := '{}';
  targets jsonb;
  skew_ms integer;
  mutation json;
  verdict json;
  verdicts json[] := '{}';
  offender json;
  last_applied uuid;
begin
  if json_typeof(batch) = 'object' and json_typeof(batch -> 'mutations') = 'array' then
    select coalesce(array_agg(distinct e.m ->> 'table'), '{}') into named
    from json_array_elements(batch -> 'mutations') e(m)
    where json_typeof(e.m) = 'object' and e.m ->> 'table' is not null;
  end if;
  if coalesce(push.schema_version < kizunasync.minimum_schema(named), true) then
    return json_build_object('signal', json_build_object('type', 'RESET_REQUIRED'));
  end if;
  targets := kizunasync.push_targets(batch, named, caller_role);
  atomic := coalesce((batch ->> 'atomic')::boolean, false);
  select s.hlc_max_skew_ms into skew_ms from kizunasync.settings s;
  perform kizunasync.enter();
  begin
    for mutation in select e.m from json_array_elements(batch -> 'mutations') e(m) loop
      verdict := kizunasync.push_decide(mutation, targets, caller, caller_role, skew_ms);
      if verdict ->> 'verdict' = 'applied' then
        last_applied := (verdict ->> 'mutation_id')::uuid;
      elsif atomic then
        offender := verdict;
        -- Takes back every member and what the ledger holds of them.
        raise exception 'aborted' using errcode = 'KZA01';
      end if;
      verdicts := verdicts || verdict;
    end loop;
  exception when sqlstate 'KZA01' then
    if offender is null then
      raise;
    end if;
    last_applied := null;
  end;
  perform kizunasync.touch_client(push.client_id, named, null, last_applied, push.schema_version);
  if offender is not null then
    return json_build_object('batch', json_build_object(
      'outcome', 'aborted', 'offender_mutation_id', offender -> 'mutation_id', 'reason', offender -> 'reason',
      'server_row', offender -> 'server_row'));
  end if;
  return json_build_object('verdicts', array_to_json(verdicts));
end $$;
