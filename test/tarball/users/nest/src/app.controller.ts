import { Controller, Get } from '@nestjs/common';
import { AppService } from './app.service';

@Controller()
export class AppController {
  constructor(private readonly appService: AppService) {}

  @Get()
  sell(): Promise<{ released: string; refused: boolean }> {
    return this.appService.sell();
  }
}
