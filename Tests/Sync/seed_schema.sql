-- The application of the end-to-end tests: teams whose members share todos. It runs after the server half.
-- Ana is in kitchen and garden, Ben in kitchen and attic.

create table public.members (
  user_id uuid not null,
  team_id text not null,
  primary key (user_id, team_id)
);
alter table public.members enable row level security;
create policy "members see themselves" on public.members
  for select to authenticated using (user_id = (select auth.uid()));
grant select on public.members to authenticated;
insert into public.members values
  ('a0a00000-0000-4000-8000-000000000001', 'kitchen'), ('a0a00000-0000-4000-8000-000000000001', 'garden'),
  ('be000000-0000-4000-8000-000000000001', 'kitchen'), ('be000000-0000-4000-8000-000000000001', 'attic');

create function public.my_teams() returns setof text language sql stable as $$
  select team_id from public.members where user_id = (select auth.uid())
$$;

-- A locked row can be read and changed, but not deleted; a hidden one cannot even be read.
create table public.todos (
  id text primary key,
  team_id text not null,
  list_id text,
  title text not null check (title <> 'forbidden'),
  done boolean not null default false,
  priority integer,
  locked boolean not null default false,
  hidden boolean not null default false
);
alter table public.todos enable row level security;
create policy "read" on public.todos for select to authenticated
  using (team_id in (select public.my_teams()) and not hidden);
create policy "insert" on public.todos for insert to authenticated
  with check (team_id in (select public.my_teams()));
create policy "update" on public.todos for update to authenticated
  using (team_id in (select public.my_teams())) with check (team_id in (select public.my_teams()));
create policy "delete" on public.todos for delete to authenticated
  using (team_id in (select public.my_teams()) and not locked);
grant select, insert, update, delete on public.todos to authenticated;

-- Nobody may delete here, and nobody but the owner may write `total`.
create table public.ledger (
  id text primary key,
  team_id text not null,
  memo text,
  total integer default 0
);
alter table public.ledger enable row level security;
create policy "members" on public.ledger for all to authenticated
  using (team_id in (select public.my_teams())) with check (team_id in (select public.my_teams()));
grant select, insert on public.ledger to authenticated;
grant update (memo) on public.ledger to authenticated;

create table public.notes (
  id text primary key,
  team_id text not null,
  body text,
  deleted_at timestamptz
);
alter table public.notes enable row level security;
create policy "members" on public.notes for all to authenticated
  using (team_id in (select public.my_teams())) with check (team_id in (select public.my_teams()));
grant select, insert, update, delete on public.notes to authenticated;

create table public.tasks (
  id text primary key,
  user_id uuid not null default auth.uid(),
  title text
);
alter table public.tasks enable row level security;
create policy "one's own" on public.tasks for all to authenticated
  using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));
grant select, insert, update, delete on public.tasks to authenticated;

-- Shared by everyone; a secret one is for Ana alone.
create table public.units (
  id text primary key,
  name text,
  secret boolean not null default false
);
alter table public.units enable row level security;
create policy "all" on public.units for all to authenticated
  using (not secret or (select auth.uid()) = 'a0a00000-0000-4000-8000-000000000001') with check (true);
grant select, insert, update, delete on public.units to authenticated;

-- The later clock wins, column by column.
create table public.clocks (
  id text primary key,
  team_id text not null,
  face text
);
alter table public.clocks enable row level security;
create policy "members" on public.clocks for all to authenticated
  using (team_id in (select public.my_teams())) with check (team_id in (select public.my_teams()));
grant select, insert, update, delete on public.clocks to authenticated;

select kizunasync.register_table(p_table => 'public.todos', p_sync_mode => 'read-write', p_bucket_column => 'team_id');
select kizunasync.register_table(p_table => 'public.ledger', p_sync_mode => 'read-write', p_bucket_column => 'team_id');
select kizunasync.register_table(p_table => 'public.notes', p_sync_mode => 'read-write', p_bucket_column => 'team_id',
  p_soft_delete_column => 'deleted_at');
select kizunasync.register_table(p_table => 'public.tasks', p_sync_mode => 'read-write', p_bucket_column => 'user_id');
select kizunasync.register_table(p_table => 'public.units', p_sync_mode => 'read-write');
select kizunasync.register_table(p_table => 'public.clocks', p_sync_mode => 'read-write', p_bucket_column => 'team_id',
  p_conflict_mode => 'hlc');

insert into public.todos (id, team_id, list_id, title, done, priority, locked) values
  ('bread', 'kitchen', 'groceries', 'Buy bread', true, 1, false),
  ('milk', 'kitchen', 'groceries', 'Buy milk', false, 2, false),
  ('oven', 'kitchen', 'repairs', 'Mend the oven', false, 1, true),
  ('roses', 'garden', 'beds', 'Cut the roses', false, 3, false),
  ('trunk', 'attic', 'boxes', 'Open the trunk', false, 1, false);
insert into public.ledger (id, team_id, memo, total) values ('january', 'kitchen', 'Rent', 900);
insert into public.notes (id, team_id, body) values
  ('one', 'kitchen', 'First'), ('two', 'kitchen', 'Second'), ('three', 'kitchen', 'Third');
insert into public.tasks (id, user_id, title) values
  ('hers', 'a0a00000-0000-4000-8000-000000000001', 'Hers'), ('his', 'be000000-0000-4000-8000-000000000001', 'His');
insert into public.units (id, name, secret) values ('g', 'gram', false), ('x', 'unknown', true);
insert into public.clocks (id, team_id, face) values ('hall', 'kitchen', 'white');
