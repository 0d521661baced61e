/** `call: grpc` (dsl-reference.md "gRPC Call"). */
import type { GrpcArguments } from '../../../language/definition/model.ts';
import type { At } from '../data-flow.ts';
import type { Execution, Outcome, Task } from '../execution.ts';
import { endpointIn, policyIn, uriIsText } from './endpoint.ts';
import { call, callLimitMs, requestOf, type Check } from './http.ts';

export function callGrpc(
  execution: Execution,
  args: GrpcArguments,
  task: Task,
  input: unknown,
  at: At,
): Promise<Outcome> {
  const { proto, service, ...rest } = args;
  const { authentication, ...address } = service;
  const prepared = {
    ...rest,
    service: {
      ...address,
      ...(authentication === undefined
        ? {}
        : { authentication: policyIn(execution, authentication, task, input) }),
    },
    ...(proto === undefined
      ? {}
      : { proto: { ...proto, endpoint: endpointIn(execution, proto.endpoint, task, input) } }),
  };
  const check: Check = (resolved, deferred) => {
    if (proto === undefined) return;
    const { endpoint } = resolved['proto'] as typeof proto;
    uriIsText(proto.endpoint, endpoint, '/proto/endpoint', deferred, task);
  };
  const request = requestOf(execution, 'grpc', prepared, check, task, input, at);
  return call(execution, { ...request, timeout_ms: callLimitMs(task) }, task);
}
