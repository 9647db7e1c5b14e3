// k6's counterpart of our run on kept connections: each virtual user asks again at once, or for so
// many replies at a time, which HTTP/2 sends on one connection.
import http from 'k6/http';

const atOnce = Number(__ENV.AT_ONCE || 1);

export const options = { batch: atOnce, batchPerHost: atOnce, insecureSkipTLSVerify: true };

export default function () {
  if (atOnce === 1) {
    http.get(__ENV.ADDRESS);
  } else {
    http.batch(Array(atOnce).fill(['GET', __ENV.ADDRESS]));
  }
}

export function handleSummary(data) {
  const { http_reqs: asked, http_req_failed: failed } = data.metrics;
  return {
    stdout: JSON.stringify({ requests: asked.values.count, failures: failed.values.passes }) + '\n',
  };
}
