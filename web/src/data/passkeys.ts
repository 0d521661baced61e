/** Passkeys of this browser (WebAuthn, in its JSON forms). */

/** Makes a passkey. @throws DOMException if the user stops it */
export async function makePasskey(options: Record<string, unknown>): Promise<Record<string, unknown>> {
  // The server's library has made them.
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  return answerOf(await navigator.credentials.create({ publicKey }));
}

/** Signs with a passkey. @throws DOMException if the user stops it */
export async function signWithPasskey(options: Record<string, unknown>): Promise<Record<string, unknown>> {
  // The server's library has made them.
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  return answerOf(await navigator.credentials.get({ publicKey }));
}

function answerOf(credential: Credential | null): Record<string, unknown> {
  if (!(credential instanceof PublicKeyCredential)) throw new Error('the browser gave no passkey');
  return { ...credential.toJSON() };
}
