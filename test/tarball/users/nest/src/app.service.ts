import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Redlock, ResourceLockedError } from '@quorlock/redlock';

@Injectable()
export class AppService implements OnModuleDestroy {
  constructor(private readonly redlock: Redlock) {}

  /** Locks the sale, and fails to lock it again. */
  async sell(): Promise<{ released: string; refused: boolean }> {
    const lock = await this.redlock.acquire('sale', 10_000);
    const error: unknown = await this.redlock.acquire('sale', 10_000, { retryCount: 0 }).catch((reason) => reason);
    const { outcome } = await lock.release();
    return { released: outcome, refused: error instanceof ResourceLockedError };
  }

  onModuleDestroy(): Promise<void> {
    return this.redlock.quit();
  }
}
