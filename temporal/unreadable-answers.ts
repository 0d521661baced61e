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
          problem = message === null ? NO_MESSAGE : null;
          let answer = message;
          try {
            answer = decoded(options.method_definition.path, message);
          } catch (error) {
            problem = `the answer cannot be read: ${String(error)}`;
          }
          // The status waits for it; with that of a failure, nobody decodes the message.
          nextMessage(answer);
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

/**
 * The answer to a method, which the SDK does not decode again; as it is, if the method is not known here.
 * @throws if it is no such message
 */
function decoded(path: string, message: unknown): unknown {
  const [, service = '', method = ''] = path.split('/');
  const type = SERVICES[service]?.[`${method}Response`];
  return type?.decode === undefined || !(message instanceof Uint8Array) ? message : type.decode(message);
}
