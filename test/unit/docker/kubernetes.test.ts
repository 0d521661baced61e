/** The manifests of docker/kubernetes against our own settings, ports and programs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

import { parseEnv, settingNames } from '../../../config/env.ts';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'docker/kubernetes');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const resources = readdirSync(folder).filter((name) => name !== 'kustomization.yaml');

type Json = Record<string, any>;
const objects: Json[] = resources.flatMap((name) =>
  parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map((document) => document.toJS() as Json),
);
const find = (kind: string, name: string): Json =>
  objects.find((object) => object['kind'] === kind && object['metadata'].name === name) ?? {};
const pods = ['cadenza-api', 'cadenza-worker'].map((name) => [name, find('Deployment', name)] as const);
const programs = [...pods, ['cadenza-migrate', find('Job', 'cadenza-migrate')] as const];

test('kustomize takes every file', () => {
  const { resources: listed } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Json;
  expect(listed.toSorted()).toEqual(resources.toSorted());
});

test('settings exist and are valid, and none of them is a secret', () => {
  const { data } = find('ConfigMap', 'cadenza-settings');
  expect(Object.keys(data).filter((name) => !settingNames.includes(name))).toEqual([]);
  expect(parseEnv(data)).toHaveProperty('env');
  expect(Object.keys(data).filter((name) => /PASSWORD|KEY|TOKEN|SECRET|DATABASE_URL/.test(name))).toEqual([]);
});

describe.each(programs)('%s', (_name, { spec }) => {
  const pod = spec.template.spec;
  const [container] = pod.containers;

  test('is a program of the image, with settings and secrets by reference', () => {
    expect(read('docker/entrypoint.sh')).toContain(`  ${container.args[0]}) exec`);
    expect(container.image).toBe('cadenza');
    expect(container.envFrom).toEqual([
      { configMapRef: { name: 'cadenza-settings' } },
      { secretRef: { name: 'cadenza-secrets' } },
    ]);
  });

  test('is restricted', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect([pod.automountServiceAccountToken, container.resources.limits.memory]).toEqual([
      false,
      expect.any(String),
    ]);
  });
});

describe.each(pods)('%s', (name, { spec }) => {
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const { labels } = spec.template.metadata;

  test('is selected by its deployment, autoscaler, disruption budget and service', () => {
    expect(labels).toMatchObject(spec.selector.matchLabels);
    expect(find('HorizontalPodAutoscaler', name)['spec'].scaleTargetRef.name).toBe(name);
    expect(find('PodDisruptionBudget', name)['spec'].selector.matchLabels).toEqual(spec.selector.matchLabels);
    if (name === 'cadenza-api') expect(labels).toMatchObject(find('Service', 'cadenza-api')['spec'].selector);
  });

  test('has time to end, and probes of what there is', () => {
    // Compose gives the same programs 20 and 60 seconds.
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(name === 'cadenza-api' ? 25 : 60);
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      const { httpGet, exec } = probe as { httpGet?: Json; exec?: Json };
      if (httpGet) {
        expect(container.ports.map((port: Json) => port['name'])).toContain(httpGet['port']);
        expect(read('api/routes/health/routes.ts')).toContain(`path: '${httpGet['path']}'`);
      } else expect(() => read(exec?.['command'][1])).not.toThrow();
    }
  });

  test('listens where the image says', () => {
    const image = read('Dockerfile');
    const ports: Json = Object.fromEntries(
      container.ports.map((port: Json) => [port['name'], port['containerPort']]),
    );
    if (name === 'cadenza-api') {
      expect(image).toContain(`PORT=${ports['http']} A2A_GRPC_PORT=${ports['grpc']}`);
      expect(find('Service', name)['spec'].ports.map((port: Json) => port['targetPort'])).toEqual([
        'http',
        'grpc',
      ]);
    } else {
      const [address] = container.env.filter((entry: Json) => entry['name'] === 'WORKER_METRICS_ADDRESS');
      expect(address.value).toBe(`0.0.0.0:${ports['metrics']}`);
    }
    const open = find('NetworkPolicy', 'cadenza')['spec'].ingress[0].ports.map((port: Json) => port['port']);
    expect(open).toEqual(expect.arrayContaining(Object.values(ports)));
  });
});
