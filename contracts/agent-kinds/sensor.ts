/** Configuration of agents of kind `sensor`: readings of devices, and commands to them, over MQTT. */
import * as z from 'zod';
import { duration, retry, type AgentKind } from './kind.ts';

/** Of a broker; `<NAME>` in it is known when it is called. */
const BROKER = /^(?:mqtts?|wss?):\/\/[^\s/?#]+(?:\/[^\s#]*)?$/i;

export const sensorConfiguration = z
  .looseObject({
    /** `mqtt://`, `mqtts://`, `ws://` or `wss://`. */
    broker: z
      .string()
      .refine(
        (address) => address.startsWith('<') || BROKER.test(address),
        'must be an address such as mqtt://broker.example.com, mqtts://, ws:// or wss://',
      )
      .optional(),
    /** Of the readings. `{name}` is replaced with the input's top-level field, in every topic. */
    topic: z.string().optional(),
    /** The retained or next reading (default), all readings of a while, or the reply to a command. */
    mode: z.enum(['latest', 'window', 'request']).optional(),
    command_topic: z.string().optional(),
    /** Default: `topic`. */
    reply_topic: z.string().optional(),
    /** Whether the device is there: `online` or `offline`, usually its last will. */
    availability_topic: z.string().optional(),
    /** How long to collect readings, or to wait for one. */
    window: duration.optional(),
    /** Default: 1. */
    qos: z.union([z.literal(0), z.literal(1), z.literal(2)]).optional(),
    username: z.string().optional(),
    password: z.string().optional(),
    /** `mqtt` is MQTT 3.1.1, without `request`. Default: `mqtt5`. */
    protocol: z.enum(['mqtt5', 'mqtt']).optional(),
    /** jq on a message: the value of the reading. Default: the message. */
    value: z.string().optional(),
    /** Of a window: count, minimum, maximum and average instead of the readings. */
    aggregate: z.boolean().optional(),
    /** JSON whose strings may contain `${ … }` over the input: the command. Default: the input. */
    payload: z.unknown().optional(),
    timeout: duration.optional(),
    retry: retry.optional(),
  })
  .superRefine((given, context) => {
    const mode = given.mode ?? 'latest';
    const missing = (key: string, why: string): void =>
      context.addIssue({ code: 'custom', path: [key], message: `is missing, which ${why} needs` });
    if (mode !== 'request' && !given.topic) missing('topic', `mode ${mode}`);
    if (mode === 'window' && given.window === undefined) missing('window', 'mode window');
    if (mode === 'request' && !given.command_topic) missing('command_topic', 'mode request');
    if (mode === 'request' && !given.reply_topic && !given.topic) missing('reply_topic', 'mode request');
    if (mode === 'request' && given.protocol === 'mqtt')
      context.addIssue({
        code: 'custom',
        path: ['protocol'],
        message: 'must be mqtt5, because only MQTT 5 tells which reply belongs to a command',
      });
  });

export type SensorConfiguration = z.infer<typeof sensorConfiguration>;

export const sensorKind: AgentKind = {
  configuration: sensorConfiguration,
  keys: ['broker'],
  sendsCredentials: false,
};
