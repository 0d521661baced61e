import { z } from 'zod';
import { duration, endpoint, freeObject, name, text, textMap } from '../common-shapes.ts';
import { checkHeaders } from '../headers.ts';
import { at, own } from '../problems.ts';
import { checkDuration, checkEndpoint } from '../reusable.ts';
import { byType, exact, refuse } from '../shape.ts';
import { checkWebAddress } from './call-http.ts';
import { inTask, type Call } from './kind.ts';

const METHODS = [
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
];

const transport = exact({
  http: exact({ endpoint, headers: textMap.optional() }).optional(),
  stdio: exact({
    command: name,
    arguments: z.array(text).optional(),
    environment: textMap.optional(),
  }).optional(),
  options: textMap.optional(),
}).check((context) => {
  if ((context.value.http === undefined) === (context.value.stdio === undefined))
    refuse(context, 'needs exactly one of: http, stdio');
});

export const mcpCall: Call = {
  arguments: exact({
    protocolVersion: text.optional(),
    method: z.enum(METHODS),
    parameters: byType({ object: freeObject, string: name }).optional(),
    timeout: duration.optional(),
    transport,
    client: exact({ name, version: name }).optional(),
  }),
  check(parameters, pointer, locals, checker) {
    checker.transformation(parameters['parameters'], at(pointer, 'parameters'), inTask(locals, 'allow'));
    checkDuration(parameters['timeout'], at(pointer, 'timeout'), inTask(locals), checker);
    checker.text(parameters['protocolVersion'], at(pointer, 'protocolVersion'), inTask(locals));
    const http = own(parameters['transport'], 'http');
    const endpoint = at(pointer, 'transport', 'http', 'endpoint');
    checkEndpoint(own(http, 'endpoint'), endpoint, locals, checker, 'allow');
    checkWebAddress(own(http, 'endpoint'), endpoint, checker);
    const headers = at(pointer, 'transport', 'http', 'headers');
    checker.template(own(http, 'headers'), headers, inTask(locals, 'allow'));
    checkHeaders(own(http, 'headers'), headers, checker);
    checker.template(
      own(parameters['transport'], 'stdio'),
      at(pointer, 'transport', 'stdio'),
      inTask(locals, 'allow'),
    );
  },
};
