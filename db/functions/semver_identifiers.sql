-- The dot-separated identifiers of a version, each in a form that text compares as Semantic Versioning
-- 2.0.0 §11 says. A number gets '0' and its count of digits in front; any other identifier gets '1', because
-- it comes after every number.
create or replace function semver_identifiers(dotted text) returns text[]
language sql immutable as $$
  select coalesce(
           array_agg(
             case when part ~ '^[0-9]+$'
                  then '0' || lpad(length(ltrim(part, '0'))::text, 3, '0') || ltrim(part, '0')
                  else '1' || part end
             order by place),
           '{}')
    from unnest(string_to_array(dotted, '.')) with ordinality as parts (part, place)
$$;
