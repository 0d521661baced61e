/** The service `lf.a2a.v1.A2AService` with the SDK's codecs, which decode a message only when it is due. */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

import { checkWire, malformed } from './grpc-wire.ts';

/** A message as it came, until admission lets it be decoded. */
export class ReceivedMessage {
  readonly bytes: Buffer;
  readonly #method: string;
  readonly #definition: MethodDefinition<object, object>;

  constructor(bytes: Buffer, method: string, definition: MethodDefinition<object, object>) {
    this.bytes = bytes;
    this.#method = method;
    this.#definition = definition;
  }

  /** @throws 400 and 422, as `checkWire` */
  decode(): object {
    checkWire(this.bytes, this.#method);
    try {
      return this.#definition.requestDeserialize(this.bytes);
    } catch {
      throw malformed();
    }
  }
}

export const grpcDefinition: ServiceDefinition = Object.fromEntries(
  Object.entries(A2AService).map(([name, method]) => [name, undecoded(name, method)]),
);

// The implementation checks request and response types; this wrapper treats all methods alike.
function undecoded(name: string, method: object): MethodDefinition<object, object> {
  const definition = method as MethodDefinition<object, object>;
  return { ...definition, requestDeserialize: (bytes) => new ReceivedMessage(bytes, name, definition) };
}
