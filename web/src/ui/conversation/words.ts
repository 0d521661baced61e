export const words = {
  roles: { user: 'You', assistant: 'Model' },
  continueIt: 'Continue',
  forget: 'Forget',
  forgetTitle: (session: string) => `Forget the conversation ${session}?`,
  forgetText: 'The agent no longer knows what was said in it. The runs stay.',
};
