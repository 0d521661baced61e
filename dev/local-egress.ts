/** What `npm start` lets programs call, unless EGRESS_ALLOW is set: the machine itself. */
export const LOCAL_EGRESS = '127.0.0.0/8,::1/128,localhost';
