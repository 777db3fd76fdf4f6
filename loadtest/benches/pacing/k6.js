// k6 at a rate: URL=http://.. RATE=1000 TIME=4s USERS=50 k6 run k6.js
import http from 'k6/http';

export const options = {
  scenarios: {
    one: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: __ENV.TIME,
      preAllocatedVUs: Number(__ENV.USERS),
    },
  },
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'max'],
};

export default function () {
  http.get(`${__ENV.URL}/`);
}
