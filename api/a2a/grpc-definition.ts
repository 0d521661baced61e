/** The service `lf.a2a.v1.A2AService` with the SDK's codecs. */
import { A2AService } from '@a2a-js/sdk/server/grpc';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/** Stands for a request whose bytes are no message of its type, so that who calls is told before what is wrong. */
export const MALFORMED = { tenant: '' };

/** As the SDK's, but bytes that it cannot read are the client's mistake, not an internal error. */
export const grpcDefinition: ServiceDefinition = Object.fromEntries(Object.entries(A2AService).map(([name, method]) => [name, lenient(method)]));

// What a method takes and gives is checked where it is implemented; here all are the same.
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
