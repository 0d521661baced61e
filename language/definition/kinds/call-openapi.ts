import { z } from 'zod';
import { externalResource, freeObject, name, referenceableAuthentication } from '../common-shapes.ts';
import { at, own } from '../problems.ts';
import { checkAuthentication, checkEndpoint } from '../reusable.ts';
import { exact } from '../shape.ts';
import { outputFormat } from './call-http.ts';
import { inTask, type Call } from './kind.ts';

export const openapiCall: Call = {
  arguments: exact({
    document: externalResource,
    operationId: name,
    parameters: freeObject.optional(),
    authentication: referenceableAuthentication.optional(),
    output: outputFormat.optional(),
    redirect: z.boolean().optional(),
  }),
  check(parameters, pointer, locals, checker) {
    checkEndpoint(
      own(parameters['document'], 'endpoint'),
      at(pointer, 'document', 'endpoint'),
      locals,
      checker,
      'allow',
    );
    checker.text(parameters['operationId'], at(pointer, 'operationId'), inTask(locals));
    checker.template(parameters['parameters'], at(pointer, 'parameters'), inTask(locals, 'allow'));
    checkAuthentication(parameters['authentication'], at(pointer, 'authentication'), locals, checker);
  },
};
