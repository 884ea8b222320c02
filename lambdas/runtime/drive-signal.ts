/**
 * Ends a Task so that the machine's Catch leads to `assess`. Names are shared constants; they make
 * the route fast, never right: `assess` reads the ledger, not the name.
 */
export class DriveSignal extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}
