import { z } from 'zod';
import {
  anything,
  externalResource,
  freeObject,
  name,
  referenceableAuthentication,
  textMap,
} from '../common-shapes.ts';
import { checkHeaders } from '../headers.ts';
import { at, own, quote } from '../problems.ts';
import { checkAuthentication, checkEndpoint } from '../reusable.ts';
import { byType, exact } from '../shape.ts';
import { unsupported } from '../support.ts';
import { checkWebAddress } from './call-http.ts';
import { inTask, type Call } from './kind.ts';

const TLS_PORT = 443;

export const grpcCall: Call = {
  arguments: exact({
    proto: externalResource.optional(),
    service: exact({
      name,
      host: z.string().regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-.]{0,61}[a-zA-Z0-9])?$/, 'must be a host name'),
      port: z.int().min(0, 'must be a port').max(65_535, 'must be a port').optional(),
      tls: z.boolean().optional(),
      authentication: referenceableAuthentication.optional(),
    }),
    method: name,
    arguments: byType({ object: freeObject, array: z.array(anything), string: name }).optional(),
    metadata: textMap.optional(),
  }),
  check(parameters, pointer, locals, checker) {
    const place = inTask(locals, 'allow');
    const proto = own(parameters['proto'], 'endpoint');
    checkEndpoint(proto, at(pointer, 'proto', 'endpoint'), locals, checker, 'allow');
    const uri = typeof proto === 'string' ? proto : own(proto, 'uri');
    if (typeof uri === 'string' && /^file:/i.test(uri))
      unsupported(checker, at(pointer, 'proto', 'endpoint'), 'grpc.file');
    else checkWebAddress(proto, at(pointer, 'proto', 'endpoint'), checker);
    checker.transformation(parameters['arguments'], at(pointer, 'arguments'), place);
    checker.template(parameters['metadata'], at(pointer, 'metadata'), place);
    checkHeaders(parameters['metadata'], at(pointer, 'metadata'), checker);
    const { service } = parameters;
    checkAuthentication(
      own(service, 'authentication'),
      at(pointer, 'service', 'authentication'),
      locals,
      checker,
    );
    const [port, tls] = [own(service, 'port') ?? TLS_PORT, own(service, 'tls')];
    if (port === 0) checker.problems.error(at(pointer, 'service', 'port'), 'invalid_value', 'must be a port');
    const isPlain = tls === false || (tls === undefined && port !== TLS_PORT);
    if (isPlain && own(service, 'authentication') !== undefined)
      checker.problems.warning(
        at(pointer, 'service', 'authentication'),
        'plain_text',
        `sends credentials without encryption: set "tls": true, unless ${quote('service.host')} is local`,
      );
  },
};
