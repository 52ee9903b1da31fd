-- Who may do what: a signed-in caller may execute the five functions, and nothing else of this schema.

revoke all on schema kizunasync from public;
revoke all on all tables in schema kizunasync from public, anon, authenticated;
revoke all on all sequences in schema kizunasync from public, anon, authenticated;
revoke execute on all functions in schema kizunasync from public, anon, authenticated;

grant usage on schema kizunasync to authenticated, service_role;
grant select on all tables in schema kizunasync to service_role;
grant execute on function kizunasync.reap(), kizunasync.compact(), kizunasync.prune() to service_role;

do $$
declare
  routine record;
begin
  -- What touches application rows runs as the role that sees them by the caller's policies.
  grant usage, create on schema kizunasync to kizunasync_rows;
  for routine in
    select p.oid::regprocedure as name, p.proowner::regrole::text as owner from pg_catalog.pg_proc p
    where p.pronamespace = 'kizunasync'::regnamespace and (p.proname like 'rows\_%' or p.proname = 'render_rows')
  loop
    if routine.owner <> 'kizunasync_rows' then
      execute format('alter function %s owner to kizunasync_rows', routine.name);
    end if;
    execute format('grant execute on function %s to %I', routine.name, current_user);
    execute format('revoke execute on function %s from public', routine.name);
  end loop;
  revoke create on schema kizunasync from kizunasync_rows;
  grant execute on function kizunasync.demand_inside() to kizunasync_rows;

  for routine in
    select p.oid::regprocedure as name from pg_catalog.pg_proc p
    where p.pronamespace = 'kizunasync'::regnamespace
      and p.proname in ('pull', 'push', 'attachment_confirm', 'attachment_metadata', 'attachment_vacuum')
  loop
    execute format('grant execute on function %s to authenticated', routine.name);
  end loop;
end $$;

-- What a caller may know of attachments: its own.
alter table kizunasync.attachments enable row level security;
grant select on kizunasync.attachments to authenticated;
do $$
begin
  if not exists (
    select from pg_catalog.pg_policies
    where schemaname = 'kizunasync' and tablename = 'attachments' and policyname = 'own_attachments')
  then
    create policy own_attachments on kizunasync.attachments for select to authenticated
      using (owner_id = (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'));
  end if;
end $$;

notify pgrst, 'reload schema';
