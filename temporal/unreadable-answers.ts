/** Makes an answer that cannot be read a failure of its call, with a code as other failures have. */
import { InterceptingCall, status, type Interceptor, type StatusObject } from '@grpc/grpc-js';
import proto from '@temporalio/proto';

/** The messages of one service. */
type Messages = Readonly<Record<string, { decode?(bytes: Uint8Array): unknown }>>;

// Safe: what they export are the classes that protobufjs has made, each with its `decode`.
const SERVICES: Readonly<Record<string, Messages>> = {
  'temporal.api.workflowservice.v1.WorkflowService': proto.temporal.api.workflowservice.v1 as Messages,
  'temporal.api.operatorservice.v1.OperatorService': proto.temporal.api.operatorservice.v1 as Messages,
};
const LAST_CODE = status.UNAUTHENTICATED;
const NO_MESSAGE = 'the answer has no message';

/**
 * The SDK decodes a message after the call has ended well, and then throws an error without a code. A broken
 * proxy gives such answers, so they are outages: INTERNAL, which may be repeated. So are an answer without a
 * message and a code that there is not.
 */
export const refuseUnreadable: Interceptor = (options, nextCall) =>
  new InterceptingCall(nextCall(options), {
    start: (metadata, _listener, next) => {
      let problem: string | null = NO_MESSAGE;
      next(metadata, {
        onReceiveMessage: (message: unknown, nextMessage) => {
          // Of an answer without one, it is null.
          problem = message === null ? NO_MESSAGE : problemOf(options.method_definition.path, message);
          // The status waits for it; with that of a failure, nobody decodes the message.
          nextMessage(message);
        },
        onReceiveStatus: (ended: StatusObject, nextStatus) => {
          if (ended.code > LAST_CODE) nextStatus(internal(ended, `unknown status ${ended.code}`));
          else if (ended.code === status.OK && problem !== null) nextStatus(internal(ended, problem));
          else nextStatus(ended);
        },
      });
    },
  });

function internal(ended: StatusObject, details: string): StatusObject {
  return { ...ended, code: status.INTERNAL, details };
}

/** Why the answer to a method is no such message; null if it is one, or if the method is not known here. */
function problemOf(path: string, message: unknown): string | null {
  const [, service = '', method = ''] = path.split('/');
  const type = SERVICES[service]?.[`${method}Response`];
  if (type?.decode === undefined || !(message instanceof Uint8Array)) return null;
  try {
    type.decode(message);
    return null;
  } catch (error) {
    return `the answer cannot be read: ${String(error)}`;
  }
}
