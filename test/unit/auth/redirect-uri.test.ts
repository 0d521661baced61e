import { expect, test } from '@jest/globals';

import { limitRoles } from '../../../domain/auth/actor.ts';
import { isOwnResource } from '../../../domain/oauth/authorization.ts';
import { isRegistered, redirectUriProblem } from '../../../domain/oauth/redirect-uri.ts';
import { roleLimitOf } from '../../../domain/oauth/scopes.ts';

test.each([
  'https://app.example.com/callback',
  'https://app.example.com',
  'https://app.example.com/callback?tenant=1',
  'http://127.0.0.1/callback',
  'http://localhost:33418/',
  'http://[::1]:9000/callback',
  'com.example.app:/callback',
  'cursor://anysphere.cursor-mcp/oauth/callback',
])('%s can be registered', (uri) => {
  expect(redirectUriProblem(uri)).toBeNull();
  expect(isRegistered(uri, [uri])).toBe(true);
});

test.each([
  'http://app.example.com/callback',
  'http://127.0.0.1.example.com/callback',
  'http://10.0.0.1/callback',
  'https://*.example.com/callback',
  'https://app.example.com/callback#part',
  'https://app.example.com/callback#',
  'https://user@app.example.com/callback',
  'https://app.example.com/a/../callback',
  'https://APP.example.com/callback',
  'https://app.example.com:443/callback',
  'http://2130706433/callback',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'blob:https://app.example.com/x',
  'view-source:https://app.example.com/callback',
  'jar:https://app.example.com/x.jar!/callback',
  'chrome://settings',
  'chrome-extension://abcdefgh/callback',
  'ms-settings://callback',
  'smb://files.example.com/callback',
  'tel:+4912345',
  'sms://+4912345',
  'maps:callback',
  '/callback',
  'callback',
  '',
  ' https://app.example.com/callback',
  'https://app.example.com/\tcallback',
  `https://app.example.com/${'x'.repeat(2_000)}`,
])('%s cannot be registered', (uri) => {
  expect(redirectUriProblem(uri)).not.toBeNull();
  expect(isRegistered(uri, ['https://app.example.com/callback', 'http://127.0.0.1/callback'])).toBe(false);
});

test('a redirect URI is compared exactly, but for the port on loopback', () => {
  const registered = [
    'https://app.example.com/callback',
    'http://127.0.0.1/callback',
    'http://localhost:1/a',
  ];
  for (const uri of ['http://127.0.0.1:50123/callback', 'http://localhost:2/a', 'http://localhost/a'])
    expect([uri, isRegistered(uri, registered)]).toEqual([uri, true]);
  for (const uri of [
    'https://app.example.com:8443/callback',
    'https://app.example.com/callback/',
    'https://app.example.com/callback/../evil',
    'https://app.example.com/callback?x=1',
    'https://app.example.com.evil.example/callback',
    'https://app.example.com@evil.example/callback',
    'http://app.example.com/callback',
    'http://127.0.0.1:50123/other',
    'http://127.0.0.1:80@evil.example/callback',
    'http://localhost:50123/callback',
    'http://127.1:50123/callback',
    'https://127.0.0.1:50123/callback',
  ])
    expect([uri, isRegistered(uri, registered)]).toEqual([uri, false]);
});

test('a resource is on this server or below it', () => {
  const base = 'https://cadenza.example.com/platform';
  for (const own of [base, `${base}/`, `${base}/mcp`])
    expect([own, isOwnResource(base, own)]).toEqual([own, true]);
  for (const other of [
    'https://cadenza.example.com/platformer',
    'https://cadenza.example.com/platform/../other',
    'https://cadenza.example.com',
    'https://cadenza.example.com:8443/platform',
    'https://user@cadenza.example.com/platform',
    'http://cadenza.example.com/platform',
    `${base}#x`,
    'platform',
  ])
    expect([other, isOwnResource(base, other)]).toEqual([other, false]);
  expect(isOwnResource('https://cadenza.example.com', 'https://cadenza.example.com/mcp')).toBe(true);
});

test('the highest role in a scope limits a client; administration has to be asked for', () => {
  expect(roleLimitOf(null)).toBe('builder');
  expect(roleLimitOf('offline_access')).toBe('builder');
  expect(roleLimitOf('openid offline_access')).toBe('viewer');
  expect(roleLimitOf('openid admin')).toBe('admin');
  expect(roleLimitOf('viewer')).toBe('viewer');
  expect(roleLimitOf('approver viewer')).toBe('approver');
  expect(roleLimitOf('viewer admin')).toBe('admin');
  expect(roleLimitOf('administrator')).toBe('builder');
});

test('a limit lowers roles and never raises them', () => {
  expect(limitRoles(['admin'], 'viewer')).toEqual(['viewer']);
  expect(limitRoles(['viewer', 'builder'], 'approver')).toEqual(['approver']);
  expect(limitRoles(['viewer'], 'admin')).toEqual(['viewer']);
  expect(limitRoles([], 'admin')).toEqual([]);
  expect(limitRoles(['viewer', 'admin'], null)).toEqual(['viewer', 'admin']);
});
