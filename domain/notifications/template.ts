/** The text of a mail; `{{name}}` is a value (templates.ts). */
export interface Template {
  subject: string;
  text: string;
  html: string;
}
