Feature: Functions by URL and of catalogs

  Scenario: A function by URL
    Given the file 'greet.yaml' is:
    """yaml
    input: {schema: {document: {type: object, required: [name]}}}
    set: {text: "Hello ${ .name }"}
    """
    And given a workflow with definition:
    """yaml
    do:
      - greet: {call: "https://service.test/files/greet.yaml", with: {name: "${ .who }"}}
    """
    And given the workflow input is:
    """yaml
    who: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    text: Hello otter
    """

  Scenario: A function of a catalog
    Given the file 'catalog/functions/double/1.2.0/function.yaml' is:
    """yaml
    set: {n: "${ .n * 2 }"}
    """
    And given a workflow with definition:
    """yaml
    use: {catalogs: {mine: {endpoint: "https://service.test/files/catalog"}}}
    do:
      - double: {call: "double:1.2.0@mine", with: {n: 21}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 42
    """

  Scenario: A catalog with an authentication of secrets
    Given the secret 'CATALOG_PASSWORD' is 'pass'
    And given a workflow with definition:
    """yaml
    use:
      secrets: [CATALOG_PASSWORD]
      authentications: {shop: {basic: {username: user, password: "${ $secrets.CATALOG_PASSWORD }"}}}
      catalogs: {mine: {endpoint: {uri: "https://service.test/guarded/catalog", authentication: {use: shop}}}}
    do:
      - double: {call: "double:1.2.0@mine", with: {n: 4}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 8
    """

  Scenario: A fetched function calls another function of the catalog
    Given the file 'catalog/functions/fourfold/1.0.0/function.yaml' is:
    """yaml
    do:
      - once: {call: "double:1.2.0@mine", with: {n: "${ .n }"}}
      - again: {call: "double:1.2.0@mine", with: {n: "${ .n }"}}
    """
    And given a workflow with definition:
    """yaml
    use: {catalogs: {mine: {endpoint: "https://service.test/files/catalog"}}}
    do:
      - four: {call: "fourfold:1.0.0@mine", with: {n: 3}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    n: 12
    """

  Scenario: A fault inside a fetched function names it
    Given the file 'fail.yaml' is:
    """yaml
    raise: {error: {type: "https://service.test/errors/no", status: 418, title: No}}
    """
    And given a workflow with definition:
    """yaml
    do:
      - fail: {call: "https://service.test/files/fail.yaml", with: {}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    status: 418
    instance: /use/functions/https:~1~1service.test~1files~1fail.yaml
    """

  Scenario: A function that does not exist
    Given a workflow with definition:
    """yaml
    do: [{a: {call: "https://service.test/files/missing.yaml", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'resource_refused' at '/do/0/a/call'

  Scenario: A function at an address that is not allowed
    Given a workflow with definition:
    """yaml
    do: [{a: {call: "http://169.254.169.254/latest/meta-data", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'resource_refused' at '/do/0/a/call'

  Scenario: A fetched function that reads a secret
    Given the file 'thief.yaml' is:
    """yaml
    call: http
    with: {method: get, endpoint: "https://service.test/echo/${ $secrets.CATALOG_PASSWORD }"}
    """
    And given a workflow with definition:
    """yaml
    use: {secrets: [CATALOG_PASSWORD]}
    do: [{a: {call: "https://service.test/files/thief.yaml", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_in_fetched_function' at '/do/0/a/call'

  Scenario: A fetched function with a mistake
    Given the file 'wrong.yaml' is:
    """yaml
    set: {n: "${ .n | nonsense }"}
    """
    And given a workflow with definition:
    """yaml
    do: [{a: {call: "https://service.test/files/wrong.yaml", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'expression' at '/do/0/a/call'

  Scenario: A document that is no function
    Given the file 'text.yaml' is:
    """yaml
    hello: world
    """
    And given a workflow with definition:
    """yaml
    do: [{a: {call: "https://service.test/files/text.yaml", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'not_a_function' at '/do/0/a/call'

  Scenario: Functions that call each other
    Given the file 'ping.yaml' is:
    """yaml
    call: "https://service.test/files/pong.yaml"
    with: {}
    """
    And given the file 'pong.yaml' is:
    """yaml
    call: "https://service.test/files/ping.yaml"
    with: {}
    """
    And given a workflow with definition:
    """yaml
    do: [{a: {call: "https://service.test/files/ping.yaml", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'function_cycle' at '/do/0/a/call'

  Scenario: An unknown catalog
    Given a workflow with definition:
    """yaml
    do: [{a: {call: "double:1.0.0@nobody", with: {}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'unknown_catalog' at '/do/0/a/call'

  Scenario: A function in a list of retries keeps its input
    Given the file 'ask.yaml' is:
    """yaml
    call: http
    with: {method: get, endpoint: "https://service.test/times/{path}/2"}
    """
    And given a workflow with definition:
    """yaml
    do:
      - attempt:
          try: [{ask: {call: "https://service.test/files/ask.yaml", with: {path: fetched}}}]
          catch: {retry: {limit: {attempt: {count: 3}}}}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    times: 3
    """
