Feature: Retries

  Scenario: A linear backoff with an increment
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/times/linear/2"}}}]
          catch: {retry: {delay: {milliseconds: 1}, backoff: {linear: {increment: {milliseconds: 5}}}, limit: {attempt: {count: 3}}}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    times: 3
    """

  Scenario: An exponential backoff with a factor and a longest delay
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/times/exponential/2"}}}]
          catch: {retry: {delay: {milliseconds: 10}, backoff: {exponential: {factor: 100, maxDelay: {milliseconds: 20}}}, limit: {attempt: {count: 3}}}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    times: 3
    """

  Scenario: A constant backoff by name
    Given a workflow with definition:
    """yaml
    use: {retries: {often: {delay: {milliseconds: 1}, backoff: {constant: {}}, limit: {attempt: {count: 2}}}}}
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/times/constant/1"}}}]
          catch: {retry: often}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    times: 2
    """

  Scenario: Retries end at their limit
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/times/never/9"}}}]
          catch: {retry: {limit: {attempt: {count: 2}}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 503
    instance: /do/0/a/try/0/b
    """

  Scenario: After the limit what is caught is handled
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/status/503"}}}]
          catch: {as: problem, retry: {limit: {attempt: {count: 1}}}, do: [{c: {set: {status: "${ $problem.status }"}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    status: 503
    """

  Scenario: A retry only when the error says so
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/status/404"}}}]
          catch: {retry: {when: "$error.status == 503", limit: {attempt: {count: 5}}}, do: [{c: {set: {tried: once}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    tried: once
    """

  Scenario: A retry limited by time
    Given a workflow with definition:
    """yaml
    do:
      - a:
          try: [{b: {call: http, with: {method: get, endpoint: "https://service.test/status/503"}}}]
          catch: {retry: {delay: {milliseconds: 80}, limit: {duration: {milliseconds: 200}}}, do: [{c: {set: {gave: up}}}]}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    gave: up
    """

  Scenario: An unknown parameter of a backoff
    Given a workflow with definition:
    """yaml
    do:
      - a: {try: [{b: {set: {ok: true}}}], catch: {retry: {backoff: {linear: {step: 1}}, limit: {attempt: {count: 1}}}}}
    """
    When the workflow is saved
    Then the definition should be refused with 'unknown_property' at '/do/0/a/catch/retry/backoff/linear/step'
