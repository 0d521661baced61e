Feature: Secrets and authorization

  Scenario: A secret in a header, a query, a body and the address
    Given the secret 'SHOP_KEY' is 's3cr3t-otter-key'
    And given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a:
          call: http
          with:
            method: post
            endpoint: "https://service.test/echo/${ $secrets.SHOP_KEY }"
            headers: {x-key: "${ $secrets.SHOP_KEY }"}
            query: {key: "${ $secrets.SHOP_KEY }"}
            body: {key: "${ $secrets.SHOP_KEY }"}
          output: {as: "{method: .method}"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    method: POST
    """
    And 's3cr3t-otter-key' should not be kept

  Scenario: An echoed secret is not kept
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a: {call: http, with: {method: post, endpoint: "https://service.test/echo/x", body: {key: "${ $secrets.SHOP_KEY }"}}, output: {as: ".body"}}
    """
    When the workflow is executed
    Then the workflow should complete
    And 's3cr3t-otter-key' should not be kept

  Scenario: A secret that jq has changed is not kept
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a: {call: http, with: {method: post, endpoint: "https://service.test/echo/x", body: {key: "${ $secrets.SHOP_KEY | @base64 }"}}, output: {as: ".body"}}
    """
    When the workflow is executed
    Then the workflow should complete
    And 'czNjcjN0LW90dGVyLWtleQ' should not be kept

  Scenario: A secret in input.from of a call
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a:
          input: {from: "{key: $secrets.SHOP_KEY, name: .name}"}
          call: http
          with: {method: post, endpoint: "https://service.test/echo/x", body: {key: "${ .key }", name: "${ .name }"}}
          output: {as: "{name: .body.name, isKept: (.body.key == .body.name)}"}
    """
    And given the workflow input is:
    """yaml
    name: otter
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    name: otter
    isKept: false
    """
    And 's3cr3t-otter-key' should not be kept

  Scenario: A changed secret of input.from is not kept
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a:
          input: {from: "{key: $secrets.SHOP_KEY}"}
          call: http
          with: {method: post, endpoint: "https://service.test/echo/x", body: "${ {key: (.key | explode | reverse | implode)} }"}
          output: {as: ".body"}
    """
    When the workflow is executed
    Then the workflow should complete
    And 'yek-retto' should not be kept

  Scenario: An error does not quote a secret
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a: {call: http, with: {method: get, endpoint: "https://service.test/status/500", headers: {x-key: "${ $secrets.SHOP_KEY | error }"}}}
    """
    When the workflow is executed
    Then the workflow should fault with error:
    """yaml
    type: https://serverlessworkflow.io/spec/1.0.0/errors/expression
    status: 400
    """
    And 's3cr3t-otter-key' should not be kept

  Scenario: Authorization describes the authentication of the call
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do:
      - a:
          call: http
          with:
            method: get
            endpoint: {uri: "https://service.test/echo/x", authentication: {bearer: {use: SHOP_KEY}}}
            headers: {x-scheme: "${ $authorization.scheme }", x-length: "${ $authorization.parameter | length | tostring }"}
          output: {as: "{length: .headers[\"x-length\"]}"}
    """
    When the workflow is executed
    Then the workflow should complete with output:
    """yaml
    length: "16"
    """
    And 's3cr3t-otter-key' should not be kept

  Scenario: A secret in set is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {set: {k: "${ $secrets.SHOP_KEY }"}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/set/k'

  Scenario: A secret in output is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {set: {ok: true}, output: {as: "{k: $secrets.SHOP_KEY}"}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/output/as'

  Scenario: A secret in export is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {set: {ok: true}, export: {as: "{k: $secrets.SHOP_KEY}"}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/export/as'

  Scenario: A secret in the output of the workflow is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    output: {as: "$secrets.SHOP_KEY"}
    do: [{a: {set: {ok: true}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/output/as'

  Scenario: A secret in an event is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {emit: {event: {with: {type: a.b, data: "${ $secrets.SHOP_KEY }"}}}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/emit/event/with/data'

  Scenario: A secret in a raised error is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {raise: {error: {type: "a:b", status: 400, detail: "${ $secrets.SHOP_KEY }"}}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/raise/error/detail'

  Scenario: A secret for another workflow is refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {run: {workflow: {namespace: a, name: b, version: latest, input: {k: "${ $secrets.SHOP_KEY }"}}}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/run/workflow/input/k'

  Scenario: The output of a call with a secret input cannot read it
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {input: {from: "{k: $secrets.SHOP_KEY}"}, call: http, with: {method: get, endpoint: "https://service.test/echo/x"}, output: {as: "$input.k"}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_exposed' at '/do/0/a/output/as'

  Scenario: All secrets at once are refused
    Given a workflow with definition:
    """yaml
    use: {secrets: [SHOP_KEY]}
    do: [{a: {call: http, with: {method: post, endpoint: "https://service.test/echo/x", body: "${ $secrets }"}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'secret_name' at '/do/0/a/with/body'

  Scenario: A secret that is not declared is refused
    Given a workflow with definition:
    """yaml
    do: [{a: {call: http, with: {method: get, endpoint: "https://service.test/echo/x", headers: {k: "${ $secrets.OTHER }"}}}}]
    """
    When the workflow is saved
    Then the definition should be refused with 'unknown_secret' at '/do/0/a/with/headers/k'
