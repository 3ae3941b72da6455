// In place of Node's `util`, of which fake timers use a part only where it exists.
export default {};
