-- Functions to call: enough to see each side of the contract.
create schema kizunasync;
grant usage on schema kizunasync to anon, authenticated;
create table public.marks (name text primary key, deferred text unique deferrable initially deferred);
grant all on public.marks to anon, authenticated;

create function kizunasync.echo(a json, b text, c integer default 5) returns json language sql as
  'select json_build_object(''a'', a, ''b'', b, ''c'', c)';

create function kizunasync.raw() returns json language sql as
  $$ select '{"big": 12345678901234567890.10,  "b":1, "b":2}'::json $$;

create function kizunasync.caller() returns jsonb language sql as $$
  select jsonb_build_object(
    'user', current_user, 'sub', auth.uid(),
    'claims', nullif(current_setting('request.jwt.claims', true), '')::jsonb,
    'headers', nullif(current_setting('request.headers', true), '')::jsonb,
    'method', current_setting('request.method', true), 'path', current_setting('request.path', true),
    'search_path', current_setting('search_path'), 'session', session_user)
$$;

create function kizunasync.mark(name text) returns void language sql as
  'insert into public.marks values (name, name)';
create function kizunasync.mark_deferred(name text) returns void language sql as
  'insert into public.marks values (name, ''same'')';
create function kizunasync.marks() returns setof text language sql as
  'select name from public.marks order by name';
create function kizunasync.numbers(n integer) returns table (i integer, t text) language sql as
  'select g, g::text from generate_series(1, n) g';
create function kizunasync.list(items text[]) returns integer language sql as 'select cardinality(items)';
create function kizunasync.none() returns text language sql as 'select null::text';

create function kizunasync.raise(code text, text text default 'planned') returns integer
language plpgsql as $$
begin
  raise exception '%', text using errcode = code, detail = 'the detail', hint = 'the hint';
end
$$;

create function kizunasync.secret() returns integer language sql as 'select 1';
revoke execute on function kizunasync.secret() from public;

create function public.hello() returns text language sql as $$ select 'hello' $$;
