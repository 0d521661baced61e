/** One's second factors: an authenticator app, passkeys and recovery codes. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { Passkey, SecondFactors } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { makePasskey, signWithPasskey } from '../../data/passkeys.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './factor-words.ts';
import { Removal } from './removal.tsx';
import { ShownOnce } from './shown-once.tsx';

const field = (name: string, title: string) => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'string', title, minLength: 1, maxLength: 100 } },
});

export function SecondFactor() {
  const factors = useSignal<SecondFactors | null>(null);
  const shown = useSignal<Record<string, string> | null>(null);
  const read = async () => {
    factors.value = await client.call('getMySecondFactors');
  };
  useEffect(() => void read().catch(failed), []);
  const changed = async (codes: readonly string[] | null) => {
    if (codes !== null) shown.value = { [words.recoveryCodes]: codes.join('\n') };
    await read();
  };
  const now = factors.value;
  if (now === null) return null;
  const has = now.totp || now.passkeys.length > 0;
  return (
    <>
      <p class="muted">{now.required && !has ? words.required : words.help}</p>
      {now.awaited && has && <Proof factors={now} onShown={() => location.reload()} />}
      <App has={now.totp} changed={changed} show={(values) => (shown.value = values)} />
      <Passkeys passkeys={now.passkeys} changed={changed} />
      {has && (
        <section class={page['part']}>
          <h2>{words.recoveryCodes}</h2>
          <p>{words.left(now.recovery_codes_left)}</p>
          <Removal
            title={words.renew}
            text={words.renewText}
            act={words.renew}
            onAct={async () => changed((await client.call('renewMyRecoveryCodes')).recovery_codes)}
          />
        </section>
      )}
      <ShownOnce values={shown.value} onClose={() => (shown.value = null)} />
    </>
  );
}

const failed = (error: unknown) => complain(error instanceof DOMException ? words.stopped : detailOf(error));

/** Gives a session that waits for a second factor its full rights. */
function Proof({ factors, onShown }: { factors: SecondFactors; onShown: () => void }) {
  const byCode = async (body: Record<string, unknown>) => {
    const code = String(body['code']).replaceAll(/\s/g, '');
    await client.call('verifyMe', { body: /^\d{6}$/.test(code) ? { code } : { recovery_code: code } });
    onShown();
  };
  const byPasskey = async () => {
    const { challenge, options } = await client.call('beginMyVerification');
    const passkey = await signWithPasskey(options);
    // The browser's own form.
    await client.call('verifyMe', { body: { challenge, passkey: passkey as never } });
    onShown();
  };
  return (
    <section class={page['part']}>
      <h2>{words.show}</h2>
      <p>{words.showHelp}</p>
      <div class={page['actions']}>
        <FormDialog
          id="proof"
          button={words.showCode}
          title={words.showCode}
          submit={words.show}
          schema={field('code', words.anyCode)}
          onSubmit={byCode}
        />
        {factors.passkeys.length > 0 && (
          <button type="button" onClick={() => void byPasskey().catch(failed)}>
            {words.showPasskey}
          </button>
        )}
      </div>
    </section>
  );
}

interface PartProps {
  changed: (codes: readonly string[] | null) => Promise<void>;
}

function App({
  has,
  changed,
  show,
}: PartProps & { has: boolean; show: (values: Record<string, string>) => void }) {
  const begin = async () => {
    const { secret, uri } = await client.call('beginMyTotp');
    show({ [words.secret]: secret, [words.uri]: uri });
  };
  const confirm = async (body: Record<string, unknown>) => {
    const { recovery_codes: codes } = await client.call('confirmMyTotp', {
      body: { code: String(body['code']) },
    });
    await changed(codes);
  };
  const remove = async () => {
    await client.call('deleteMyTotp');
    await changed(null);
  };
  return (
    <section class={page['part']}>
      <h2>{words.app}</h2>
      {has ? (
        <Removal title={words.removeApp} text={words.removeText} onAct={remove} />
      ) : (
        <div class={page['actions']}>
          <button type="button" onClick={() => void begin().catch(failed)}>
            {words.getSecret}
          </button>
          <FormDialog
            id="totp"
            button={words.confirm}
            title={words.confirm}
            submit={words.confirm}
            schema={field('code', words.code)}
            onSubmit={confirm}
          />
        </div>
      )}
    </section>
  );
}

function Passkeys({ passkeys, changed }: PartProps & { passkeys: readonly Passkey[] }) {
  const add = async (body: Record<string, unknown>) => {
    const { challenge, options } = await client.call('beginMyPasskey');
    // A stopped passkey is no answer of the server.
    const passkey = await makePasskey(options).catch(failed);
    if (passkey === undefined) return;
    const { recovery_codes: codes } = await client.call('createMyPasskey', {
      // The browser's own form.
      body: { name: String(body['name']), challenge, passkey: passkey as never },
    });
    await changed(codes);
  };
  const remove = async (id: string) => {
    await client.call('deleteMyPasskey', { path: { id } });
    await changed(null);
  };
  return (
    <section class={page['part']}>
      <h2>{words.passkeys}</h2>
      <div class={page['actions']}>
        <FormDialog
          id="passkey"
          button={words.addPasskey}
          title={words.addPasskey}
          submit={words.add}
          schema={field('name', words.name)}
          onSubmit={add}
        />
      </div>
      {passkeys.length > 0 && (
        <Table
          label={words.passkeys}
          columns={columns(remove)}
          records={passkeys}
          keyOf={({ id }: Passkey) => id}
        />
      )}
    </section>
  );
}

const columns = (remove: (id: string) => Promise<void>): Column<Passkey>[] => [
  { title: words.name, cell: ({ name }) => name },
  { title: words.used, cell: ({ last_used_at: at }) => (at === null ? words.never : <When at={at} />) },
  {
    title: words.acts,
    acts: true,
    cell: ({ id, name }) => (
      <Removal title={words.removePasskey(name)} text={words.removeText} onAct={() => remove(id)} />
    ),
  },
];
