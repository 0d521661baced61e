/** The service `lf.a2a.v1.A2AService` with the SDK's codecs. */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/**
 * Placeholder for a request whose bytes cannot be decoded. The call fails with it in its handler, after the
 * checks that every call runs.
 */
export const MALFORMED = { tenant: '' };

/**
 * The SDK's service definition, except that undecodable bytes are the client's error and not an internal one.
 */
export const grpcDefinition: ServiceDefinition = Object.fromEntries(
  Object.entries(A2AService).map(([name, method]) => [name, lenient(method)]),
);

// The implementation checks request and response types; this wrapper treats all methods alike.
function lenient(method: object): MethodDefinition<object, object> {
  const definition = method as MethodDefinition<object, object>;
  return {
    ...definition,
    requestDeserialize: (bytes) => {
      try {
        return definition.requestDeserialize(bytes);
      } catch {
        return MALFORMED;
      }
    },
  };
}
