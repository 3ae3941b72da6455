import { Module } from '@nestjs/common';
import { Redlock } from '@quorlock/redlock';
import { Redis } from 'ioredis';
import { AppController } from './app.controller';
import { AppService } from './app.service';

@Module({
  imports: [],
  controllers: [AppController],
  providers: [
    AppService,
    {
      provide: Redlock,
      useFactory: () => new Redlock(process.env.MASTERS!.split(',').map((url) => new Redis(url))),
    },
  ],
})
export class AppModule {}
