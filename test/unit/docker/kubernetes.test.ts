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
const server = ['cadenza-server', find('Deployment', 'cadenza-server')] as const;
const backupJob = ['cadenza-backup', find('CronJob', 'cadenza-backup')['spec'].jobTemplate as Json] as const;

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

test.each([...programs, backupJob])('%s is a program of the image', (_name, { spec }) => {
  expect(read('docker/entrypoint.sh')).toMatch(
    new RegExp(`^  ${spec.template.spec.containers[0].args[0]}\\)`, 'm'),
  );
});

describe.each([...programs, server, backupJob])('%s', (_name, { spec }) => {
  const pod = spec.template.spec;
  const [container] = pod.containers;

  test('has the image, and settings and secrets by reference', () => {
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
    const { podSelector, ingress } = find('NetworkPolicy', name)['spec'];
    expect(labels).toMatchObject(podSelector.matchLabels);
    const open = ingress.flatMap((rule: Json) => rule['ports'].map((port: Json) => port['port']));
    expect(open.toSorted()).toEqual(Object.values(ports).toSorted());
  });
});

test('nothing but the api is reached by everybody', () => {
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const everybody = policies
    .flatMap(({ metadata, spec }) =>
      (spec.ingress ?? []).map((rule: Json) => ({ name: metadata.name, ...rule })),
    )
    .filter(({ from }) => from === undefined);
  expect(everybody.map(({ name }) => name)).toEqual(['cadenza-api']);
  // The pods of this policy, which are all, are closed unless another one opens them.
  expect(find('NetworkPolicy', 'cadenza')['spec']).toEqual({
    podSelector: { matchLabels: { 'app.kubernetes.io/name': 'cadenza' } },
    policyTypes: ['Ingress'],
  });
});

test('the connections of as many copies as the autoscalers allow are what the documentation says', () => {
  const { data } = find('ConfigMap', 'cadenza-settings');
  const copies = pods.map(([name]) => find('HorizontalPodAutoscaler', name)['spec'].maxReplicas as number);
  const sum = copies.reduce((all, one) => all + one, 0) * (Number(data['DATABASE_POOL_SIZE']) + 1);
  expect(read('docs/operations.md')).toMatch(new RegExp(`take up to ${sum}\\. PostgreSQL's own default`));
  expect(read('docker/kubernetes/settings.yaml')).toContain(`take up to ${sum} connections`);
});

describe('an upgrade', () => {
  /** The commands of a section of docs/operations.md, as lines. */
  function commandsOf(title: string): string[] {
    const [, section = ''] = read('docs/operations.md').split(`\n## ${title}\n`);
    const [text = ''] = section.split('\n## ');
    return [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
      .flatMap(([, block = '']) => block.replaceAll('\\\n', '').trim().split('\n'))
      .map((line) => line.replaceAll(/ +/g, ' '));
  }
  const upgrade = commandsOf('Upgrade on Kubernetes');
  const backup = commandsOf('Back up and restore on Kubernetes');

  test('ends all old workers before new ones start, also by a mere apply', () => {
    expect(find('Deployment', 'cadenza-worker')['spec'].strategy).toEqual({ type: 'Recreate' });
    // Copies of the api go on meanwhile.
    expect(find('Deployment', 'cadenza-api')['spec'].strategy).toMatchObject({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0 },
    });
    const indexOf = (part: string): number => upgrade.findIndex((line) => line.includes(part));
    const order = [
      'scale deployment/cadenza-worker --replicas=0',
      'wait --for=delete pod',
      'delete job/cadenza-migrate',
      'apply -k . -l app.kubernetes.io/component=migrate',
      'wait --for=condition=complete job/cadenza-migrate',
      'scale deployment/cadenza-worker --replicas=2',
    ].map(indexOf);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
    expect(order).not.toContain(-1);
    // An apply does not bring back the number of copies: the autoscaler has it, and does nothing at zero.
    expect(find('Deployment', 'cadenza-worker')['spec']).not.toHaveProperty('replicas');
  });

  test('and a backup name what there is', () => {
    const commands = [...upgrade, ...backup].join('\n');
    const named = [...commands.matchAll(/\b(deployment|job)\/([\w-]+)/g)];
    expect(named.length).toBeGreaterThan(10);
    for (const [, kind = '', name = ''] of named)
      expect(find(kind === 'job' ? 'Job' : 'Deployment', name)).toHaveProperty('metadata.name', name);
    const components = [...commands.matchAll(/component(?:=| in \()([\w, ]+)/g)].flatMap(([, names = '']) =>
      names.split(', '),
    );
    const labels = objects.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component']);
    expect(labels).toEqual(expect.arrayContaining(components.map((name) => name.split(' ')[0])));
  });

  test('a backup by timetable keeps some in the same volume, one job at a time', () => {
    const [, { spec }] = backupJob;
    const { containers, volumes } = spec.template.spec;
    const [command, place] = [containers[0].args.slice(0, 2), containers[0].args[2]];
    expect([command, containers[0].args.slice(3)]).toEqual([
      ['server', 'backup'],
      ['--keep', expect.stringMatching(/^\d+$/)],
    ]);
    expect(containers[0].volumeMounts).toContainEqual({ name: 'backups', mountPath: place });
    const claims = [volumes, server[1]['spec'].template.spec.volumes].map(
      (all: Json[]) => all.find(({ name }) => name === 'backups')?.['persistentVolumeClaim'].claimName,
    );
    expect(new Set(claims)).toEqual(new Set(['cadenza-backups']));
    expect(find('CronJob', 'cadenza-backup')['spec'].concurrencyPolicy).toBe('Forbid');
  });

  test('a backup has a volume of its own, in a pod that does not run unless it is asked for', () => {
    const { spec } = find('Deployment', 'cadenza-server');
    expect(spec.replicas).toBe(0);
    const { containers, volumes } = spec.template.spec;
    expect(containers[0].volumeMounts).toContainEqual({ name: 'backups', mountPath: '/backups' });
    const [claim] = volumes.filter(({ name }: Json) => name === 'backups');
    expect(find('PersistentVolumeClaim', claim.persistentVolumeClaim.claimName)).toHaveProperty('spec');
    expect(backup.filter((line) => line.includes('/backups/')).length).toBe(2);
  });
});
