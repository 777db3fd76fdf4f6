// k6, doing the same: JOURNEY=one|three URL=http://.. k6 run --vus 64 --duration 4s k6.js
import http from 'k6/http';

const url = __ENV.URL;
const json = { headers: { 'content-type': 'application/json' } };

function three() {
  const login = http.post(`${url}/login`, JSON.stringify({ user: 'ada' }), json).json();
  const headers = { authorization: `Bearer ${login.token}`, 'content-type': 'application/json' };
  const product = http.get(`${url}/products/${login.user.id}`, { headers }).json();
  http.post(`${url}/orders`, JSON.stringify({ product: product.id }), { headers });
}

export default function () {
  if (__ENV.JOURNEY === 'three') three();
  else http.get(`${url}/`);
}
