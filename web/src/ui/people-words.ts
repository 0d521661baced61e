/** Words of the field that is loaded on its own. */
export const words = {
  chosen: (label: string) => `${label}: chosen`,
  remove: (name: string) => `Remove ${name}`,
};
