/**
 * Dynalite in a process of its own: its work does not share the tests' event loop, and its
 * CommonJS parts are not loaded under the test runner's import conditions. Prints its port; ends
 * with its standard input, so it never outlives the tests.
 */
import dynalite from 'dynalite';

const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
server.listen(0, '127.0.0.1', () => {
  console.log(server.address().port);
});
process.stdin.on('end', () => process.exit(0)).resume();
