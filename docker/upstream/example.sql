-- A small application to sync: teams, their shared lists, and everybody's own todos.
-- It runs after the server half, in a bare PostgreSQL and in a Supabase project alike.

-- What a bare PostgreSQL lacks: the login role of PostgREST, and the caller's id for policies.
do $$
begin
  if not exists (select from pg_roles where rolname = 'authenticator') then
    create role authenticator login noinherit;
    grant anon, authenticated, service_role to authenticator;
  end if;
  if to_regprocedure('auth.uid()') is null then
    create schema if not exists auth;
    grant usage on schema auth to public;
    create function auth.uid() returns uuid language sql stable as
      'select (nullif(current_setting(''request.jwt.claims'', true), '''')::jsonb ->> ''sub'')::uuid';
  end if;
end
$$;

create table public.teams (
  id uuid primary key default gen_random_uuid(),
  name text not null
);

create table public.team_members (
  team_id uuid not null references public.teams (id) on delete cascade,
  user_id uuid not null,
  primary key (team_id, user_id)
);
create index on public.team_members (user_id);

create table public.lists (
  id uuid primary key default gen_random_uuid(),
  team_id uuid not null references public.teams (id) on delete cascade,
  name text not null
);
create index on public.lists (team_id);

create table public.todos (
  id uuid primary key default gen_random_uuid(),
  list_id uuid references public.lists (id) on delete cascade,
  title text not null check (title <> ''),
  done boolean not null default false,
  position integer,
  tags text[],
  meta jsonb,
  price numeric(10, 2),
  created_at timestamptz default now(),
  user_id uuid not null default auth.uid()
);
create index on public.todos (list_id);
create index on public.todos (user_id);

alter table public.teams enable row level security;
alter table public.team_members enable row level security;
alter table public.lists enable row level security;
alter table public.todos enable row level security;

create policy "members see themselves" on public.team_members
  for select to authenticated using (user_id = (select auth.uid()));

create policy "members see their teams" on public.teams
  for select to authenticated
  using (id in (select team_id from public.team_members where user_id = (select auth.uid())));

create policy "members share lists" on public.lists
  for all to authenticated
  using (team_id in (select team_id from public.team_members where user_id = (select auth.uid())))
  with check (team_id in (select team_id from public.team_members where user_id = (select auth.uid())));

create policy "todos belong to a user" on public.todos
  for all to authenticated
  using (user_id = (select auth.uid()))
  with check (user_id = (select auth.uid()));

grant usage on schema public to authenticated;
grant select on public.teams, public.team_members to authenticated;
grant select, insert, update, delete on public.lists, public.todos to authenticated;

select kizunasync.register_table(
  p_table => 'public.lists', p_sync_mode => 'read-write', p_bucket_column => 'team_id');
select kizunasync.register_table(
  p_table => 'public.todos', p_sync_mode => 'read-write', p_bucket_column => 'user_id');

-- Two users of one team.
insert into public.teams (id, name) values
  ('7ea00000-0000-4000-8000-000000000001', 'Kitchen');

insert into public.team_members (team_id, user_id) values
  ('7ea00000-0000-4000-8000-000000000001', 'a0a00000-0000-4000-8000-000000000001'),
  ('7ea00000-0000-4000-8000-000000000001', 'be000000-0000-4000-8000-000000000001');

insert into public.lists (id, team_id, name) values
  ('11570000-0000-4000-8000-000000000001', '7ea00000-0000-4000-8000-000000000001', 'Groceries'),
  ('11570000-0000-4000-8000-000000000002', '7ea00000-0000-4000-8000-000000000001', 'Repairs');

insert into public.todos (list_id, title, position, tags, meta, price, user_id) values
  ('11570000-0000-4000-8000-000000000001', 'Miso', 1, '{quick,soup}', '{"shop": "corner"}', 4.50,
   'a0a00000-0000-4000-8000-000000000001'),
  ('11570000-0000-4000-8000-000000000002', 'Fix the tap', 2, null, null, null,
   'a0a00000-0000-4000-8000-000000000001'),
  ('11570000-0000-4000-8000-000000000001', 'Rice', 1, '{bulk}', null, 12.00,
   'be000000-0000-4000-8000-000000000001');
