-- Keeps the answer to the first request with an `Idempotency-Key` for a day. The caller has claimed the key.
create or replace function keep_answer(
  p_user uuid, p_method text, p_path text, p_key text, p_fingerprint text, p_status int, p_headers jsonb,
  p_body text
) returns void
language plpgsql set enable_seqscan = off as $$
begin
  insert into idempotency_record (user_id, method, path, key, fingerprint, status, headers, body, expires_at)
  values (p_user, p_method, p_path, p_key, p_fingerprint, p_status, p_headers, p_body,
          now() + interval '24 hours')
  on conflict (user_id, method, path, key) do update set
    fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
    body = excluded.body, expires_at = excluded.expires_at;
end $$;
