import { expect, test } from '@jest/globals';
import { grpcOrigin } from '../../../adapters/a2a/grpc-origin.ts';

test.each([
  // url, with a card over plain HTTP, with one over TLS
  ['agent.example:50051', 'http://agent.example:50051', 'https://agent.example:50051'],
  ['agent.example:443', 'https://agent.example', 'https://agent.example'],
  ['https://agent.example/a2a/v1', 'https://agent.example', 'https://agent.example'],
  ['http://agent.example:8080/x?y', 'http://agent.example:8080', 'http://agent.example:8080'],
  ['grpc://agent.example:50051', 'http://agent.example:50051', 'http://agent.example:50051'],
  ['GRPCS://agent.example', 'https://agent.example', 'https://agent.example'],
  ['dns:///agent.example:50051', 'http://agent.example:50051', 'https://agent.example:50051'],
  ['[2001:db8::1]:50051', 'http://[2001:db8::1]:50051', 'https://[2001:db8::1]:50051'],
  ['2001:db8::1', 'http://[2001:db8::1]', 'https://[2001:db8::1]'],
])('the card URL %s gives the origins %s (plain) and %s (TLS)', (url, plain, secure) => {
  expect([grpcOrigin(url, false), grpcOrigin(url, true)]).toEqual([plain, secure]);
});

test.each([
  '',
  'a b',
  'user@agent.example:1',
  'http://user:secret@agent.example',
  'agent.example:port',
  'ipv4:10.0.0.1:1',
  'https://',
])('%p is refused as an address', (url) => {
  expect(() => grpcOrigin(url, true)).toThrow('which is not an address');
});
