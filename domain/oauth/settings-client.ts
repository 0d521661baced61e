/** The OAuth client that the settings describe: Temporal's web UI, for administrators only. */
import { v7 as uuidv7 } from 'uuid';

import { arrayLiteral } from '../../db/sql.ts';
import type { EntityManager } from '../../db/orm.ts';
import { CODEC_RESOURCE } from '../auth/access-token.ts';
import { hashSecret } from '../auth/clients.ts';

export interface SettingsClient {
  BASE_URL: string;
  TEMPORAL_UI_URL?: string | undefined;
  TEMPORAL_UI_CLIENT_ID: string;
  TEMPORAL_UI_CLIENT_SECRET?: string | undefined;
}

/** Where the UI takes codes; older versions have the second address. */
const CALLBACKS = ['/auth/sso/callback', '/auth/sso_callback'];

/**
 * Stores the client of the settings, and removes those that they no longer describe, whose sessions end. A
 * new secret ends the sessions too, since the former may be known to somebody.
 */
export async function applySettingsClient(em: EntityManager, env: SettingsClient): Promise<void> {
  const { TEMPORAL_UI_CLIENT_ID: handle, TEMPORAL_UI_CLIENT_SECRET: secret, TEMPORAL_UI_URL: url } = env;
  const isWanted = secret !== undefined && url !== undefined;
  // Of several copies that start at once, the second finds the record of the first.
  await em.execute(`select pg_advisory_xact_lock(hashtextextended('oauth_client', 0))`);
  await em.execute('delete from oauth_client where from_settings and handle is distinct from ?', [
    isWanted ? handle : null,
  ]);
  if (!isWanted) return;
  const hash = hashSecret(secret);
  await em.execute('delete from oauth_client where handle = ? and secret_hash is distinct from ?', [
    handle,
    hash,
  ]);
  await em.execute(
    `insert into oauth_client (id, name, client_uri, redirect_uris, auth_method, secret_hash, network, handle,
                               from_settings, required_role, resource)
     values (?, ?, ?, ?::text[], 'client_secret_basic', ?, '', ?, true, 'admin', ?)
     on conflict (handle) do update
       set client_uri = excluded.client_uri, redirect_uris = excluded.redirect_uris,
           resource = excluded.resource`,
    [
      uuidv7(),
      "Temporal's web UI",
      url,
      arrayLiteral(CALLBACKS.map((path) => `${url}${path}`)),
      hash,
      handle,
      `${env.BASE_URL}${CODEC_RESOURCE}`,
    ],
  );
}
