-- A version as a text array that compares (collation "C") as Semantic Versioning 2.0.0 §11 says. A release
-- ('~') comes after its pre-releases, '' ends that part, and build metadata orders what is equal otherwise.
-- `agent_version.precedence` is generated from it: a body that gives other results needs a migration that
-- writes that column anew. pg_restore fills the column while its search path is empty, so the function brings
-- its own.
create or replace function semver_precedence(version text) returns text[]
language sql immutable set search_path from current as $$
  select semver_identifiers(split_part(split_part(version, '+', 1), '-', 1))
      || case when split_part(version, '+', 1) like '%-%'
              then semver_identifiers(
                     substring(split_part(version, '+', 1) from position('-' in version) + 1))
              else array['~'] end
      || array['']
      || case when version like '%+%'
              then semver_identifiers(substring(version from position('+' in version) + 1))
              else '{}' end
$$;
