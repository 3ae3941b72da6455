/** The number of hash slots of a Redis Cluster. */
const slots = 16_384;

/**
 * The slot of a key: CRC16 (XMODEM) of its {hash tag}, or of the whole key without one. Computed bit by bit:
 * it is needed for a few keys of multi-key locks only, and a table would add a tenth to the size of the core.
 */
export function hashSlot(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of new TextEncoder().encode(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return (crc & 0xffff) % slots;
}
