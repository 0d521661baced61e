import * as z from 'zod';

import type { AppDeps } from '../../deps.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { METRICS_TYPE } from '../../metrics.ts';

export function metricsEndpoints(deps: AppDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/metrics',
      operationId: 'getMetrics',
      summary: 'Get metrics of this process and of the platform, for Prometheus',
      description: 'Requires the token of the setting `METRICS_TOKEN`, or an admin.',
      tags: ['operations'],
      role: 'admin',
      ...(deps.env.METRICS_TOKEN === undefined ? {} : { serviceToken: deps.env.METRICS_TOKEN }),
      responses: { 200: media({ [METRICS_TYPE]: z.string() }) },
      handler: async () => ({
        status: 200,
        type: METRICS_TYPE,
        body: await deps.metrics.text(),
        headers: { 'Cache-Control': 'no-store' },
      }),
    }),
  ];
}
