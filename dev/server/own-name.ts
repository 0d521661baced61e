/** Of the connections of these commands, which a restore tells from those of api and worker. */
export const OWN_NAME = 'cadenza-server';
