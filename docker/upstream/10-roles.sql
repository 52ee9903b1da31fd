-- The roles that the server half works with. A hosted project has the first three; a plain PostgreSQL gets them here.

-- What is there already is no news.
set client_min_messages = warning;

create schema if not exists kizunasync;

do $$
declare
  wanted text;
begin
  foreach wanted in array array['anon', 'authenticated', 'service_role', 'kizunasync_rows'] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      execute format('create role %I nologin noinherit', wanted);
    end if;
  end loop;
end $$;

-- Application rows are read and written as this role alone: a member of authenticated, so that its policies and grants
-- rule, and never one that passes them by.
do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'kizunasync_rows' and (rolbypassrls or rolsuper or not rolinherit)) then
    alter role kizunasync_rows nologin inherit;
  end if;
  if exists (select from pg_catalog.pg_roles where rolname = 'kizunasync_rows' and (rolbypassrls or rolsuper)) then
    raise exception 'role kizunasync_rows must not bypass row level security'
      using errcode = '42501', hint = 'Run: alter role kizunasync_rows nosuperuser nobypassrls;';
  end if;
  if not pg_has_role('kizunasync_rows', 'authenticated', 'member') then
    grant authenticated to kizunasync_rows;
  end if;
  -- The installer hands functions over to the role, for which it must be a member of it.
  if not pg_has_role(current_user, 'kizunasync_rows', 'member') then
    execute format('grant kizunasync_rows to %I', current_user);
  end if;
end $$;
