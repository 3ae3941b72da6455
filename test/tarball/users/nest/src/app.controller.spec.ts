import { Test, TestingModule } from '@nestjs/testing';
import { AppController } from './app.controller';
import { AppModule } from './app.module';

describe('AppController', () => {
  let app: TestingModule;

  beforeEach(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile();
  });

  afterEach(() => app.close());

  it('should sell', async () => {
    expect(await app.get<AppController>(AppController).sell()).toEqual({ released: 'released', refused: true });
  });
});
