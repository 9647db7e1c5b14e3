// k6's counterpart of our run on kept connections: each virtual user asks again at once.
import http from 'k6/http';

export default function () {
  http.get(__ENV.ADDRESS);
}

export function handleSummary(data) {
  const { http_reqs: asked, http_req_failed: failed } = data.metrics;
  return {
    stdout: JSON.stringify({ requests: asked.values.count, failures: failed.values.passes }) + '\n',
  };
}
