-- Load for wrk. Arguments after "--": "create FIRST [KEYS]" posts charges with references r-FIRST and on, under so many
-- keys in turn; "read PATH..." gets the paths in turn; "post PATH TYPE BODY" posts the same body again and again.
-- The report is one line of JSON: times in seconds, latencies in microseconds.

local body = [[{"Amount": 12.5, "Currency": "AUD", "Reference": "r-%d",
 "ProviderId": "a26c371f-94f6-40da-add2-28ec8e9da8ed",
 "PaymentInformation": {"CardNumber": "4111111111111111", "ExpiryDate": "12/40", "Ccv": "123", "Cardholder": "Ann Example"},
 "Email": "ann@example.test", "Phone": "0400000000", "FirstName": "Ann", "LastName": "Example",
 "Address": {"Line1": "1 Example Street", "City": "Sydney", "Country": "AU", "PostalCode": "2000", "State": "NSW"},
 "Order": {"OrderNumber": "o-1", "FreightAmount": 1.5}, "Ip": "203.0.113.7", "Metadata": {"shop": "benchmark", "tier": "gold"}}]]

local mode, paths, at, number, keys, posted = nil, {}, 0, 0, nil, nil

function init(args)
  mode = args[1]
  wrk.headers["x-secretkey"] = "bench"
  if mode == "create" then
    number = tonumber(args[2])
    keys = tonumber(args[3])
    wrk.headers["content-type"] = "application/json"
  elseif mode == "post" then
    wrk.headers["content-type"] = args[3]
    wrk.headers["authorization"] = "Bearer sk_test_bench"
    posted = wrk.format("POST", args[2], nil, args[4])
  else
    if args[2]:find("/v1/") then wrk.headers["authorization"] = "Bearer sk_test_bench" end
    for i = 2, #args do paths[i - 1] = wrk.format("GET", args[i]) end
  end
end

function request()
  if mode == "create" then
    number = number + 1
    if keys then wrk.headers["x-secretkey"] = "sk_bench_" .. number % keys end
    return wrk.format("POST", "/charge/card", nil, string.format(body, number - 1))
  end
  if mode == "post" then return posted end
  at = at % #paths + 1
  return paths[at]
end

function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '{"seconds": %f, "requests": %d, "p50": %d, "p99": %d, "errors": %d}\n',
    summary.duration / 1e6, summary.requests, latency:percentile(50), latency:percentile(99),
    e.connect + e.read + e.write + e.status + e.timeout))
end
