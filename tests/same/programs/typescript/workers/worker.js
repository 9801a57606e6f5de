const { parentPort, workerData } = require('worker_threads');
parentPort.postMessage(workerData.n + 1);
