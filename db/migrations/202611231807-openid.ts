import { Migration } from '@mikro-orm/migrations';

/** The OAuth server is an OpenID provider; clients of the settings, which may be for one role only. */
export class Migration202611231807Openid extends Migration {
  override up(): void {
    this.addSql(`
      alter table oauth_client
        -- Its name in requests; those who register themselves have their id.
        add column handle text unique,
        add column from_settings boolean not null default false,
        -- The role that a user needs; null: none.
        add column required_role text,
        -- What its tokens are for, whatever it asks for; null: as it asks.
        add column resource text`);
    // What the user allowed of who they are: {scopes, auth_time, nonce?}; null without OpenID Connect.
    this.addSql('alter table oauth_code alter column code_challenge drop not null, add column openid jsonb');
    this.addSql('alter table auth_session add column openid jsonb');
  }
}
